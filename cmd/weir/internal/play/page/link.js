// The address of the page, which holds the scenario.

export class Link {
  constructor() {
    this.query = "";
    this.timer = null;
    this.written = -Infinity;
    addEventListener("pagehide", () => this.write());
  }

  /** Puts a scenario into the address, soon: browsers allow about two changes a second. */
  put(query) {
    this.query = query;
    this.timer ??= setTimeout(() => this.write(), Math.max(this.written + 500 - performance.now(), 0));
  }

  write() {
    clearTimeout(this.timer);
    this.timer = null;
    this.written = performance.now();
    if (this.query) history.replaceState(null, "", "#" + this.query);
  }
}
