// The records of a lane, as the library hands them over: four numbers each.

/** What a record tells; see package sim. */
export const LOOK = 0, GRANTED = 1, HELD = 2, DENIED = 3, WAITS = 4;

export class Records {
  constructor() {
    this.length = 0;
    this.data = new Float64Array(4096);
  }

  /** @param {Uint8Array} bytes */
  append(bytes) {
    const more = new Float64Array(bytes.buffer);
    const used = this.length * 4;
    if (used + more.length > this.data.length) {
      const larger = new Float64Array(Math.max(this.data.length * 2, used + more.length));
      larger.set(this.data.subarray(0, used));
      this.data = larger;
    }
    this.data.set(more, used);
    this.length += more.length / 4;
  }

  at(i) { return this.data[i * 4]; }
  came(i) { return this.data[i * 4 + 1]; }
  remaining(i) { return this.data[i * 4 + 2]; }
  kind(i) { return this.data[i * 4 + 3] & 7; }

  /** Whether a record is shown as a mark. */
  marked(i) {
    const kind = this.kind(i);
    return kind === GRANTED || kind === HELD || kind === DENIED;
  }

  /** The instant of the first mark after another one, or undefined if there is none. */
  nextMark(time) {
    let i = this.until(time);
    while (i < this.length && !this.marked(i)) i++;
    return i < this.length ? this.at(i) : undefined;
  }

  /** How many records are not after an instant. */
  until(time) {
    let low = 0, high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.at(middle) <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Sums of the records of a lane, for each column of its plot. It goes on from where it was. */
export class Columns {
  constructor(records, span, plot, size) {
    this.records = records;
    this.span = span;
    this.size = size;
    this.count = Math.max(Math.floor(plot / size), 1);
    this.seen = 0;
    this.granted = new Int32Array(this.count);
    this.held = new Int32Array(this.count);
    this.denied = new Int32Array(this.count);
  }

  column(time) {
    return Math.min(Math.floor((time / this.span) * this.count), this.count - 1);
  }

  /** @param {number} end how many records are shown; not fewer than before */
  read(end) {
    for (; this.seen < end; this.seen++) {
      const kind = this.records.kind(this.seen);
      const sums = kind === GRANTED ? this.granted : kind === HELD ? this.held : kind === DENIED ? this.denied : null;
      if (sums) sums[this.column(this.records.at(this.seen))]++;
    }
  }

  /** The highest columns above and below the line. */
  most() {
    let up = 1, down = 1;
    for (let i = 0; i < this.count; i++) {
      up = Math.max(up, this.granted[i] + this.held[i]);
      down = Math.max(down, this.denied[i]);
    }
    return [up, down];
  }
}
