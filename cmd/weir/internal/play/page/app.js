// The page: what is typed and drawn makes a scenario; the library simulates it; the views show it.

import { theme } from "./chart.js";
import { DetailView } from "./detail.js";
import { LaneView, element, toClipboard } from "./lane.js";
import { Link } from "./link.js";
import { LogView } from "./log.js";
import { PRESETS, duration, fromModel, keepGood, lastGood, parts, round, seconds, toQuery } from "./scenario.js";
import { TrafficView } from "./traffic.js";

const $ = (id) => document.getElementById(id);
const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class App {
  constructor(weir) {
    this.weir = weir;
    this.colors = theme();
    this.head = 0; // the time that is shown, in nanoseconds
    this.span = 1;
    this.playing = false;
    this.lanes = [];
    this.turn = null; // the last of what was opened and edited
    this.traffic = new TrafficView(this);
    this.log = new LogView(this);
    this.detail = new DetailView();
    this.link = new Link();
    this.buttons();
    this.keys();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.colors = theme();
      this.draw();
    });
    new ResizeObserver(() => this.draw()).observe($("stage"));
    addEventListener("hashchange", (e) => this.open(new URL(e.newURL).hash.slice(1), false));
  }

  buttons() {
    for (const e of this.weir.experiments) {
      const b = element("button", { type: "button", textContent: e.title, onclick: () => this.open(e.query, !calm.matches) });
      b.dataset.id = e.id;
      $("experiments").append(b);
    }
    for (const [name, text] of PRESETS) {
      $("presets").append(element("button", { type: "button", textContent: name, title: text, onclick: () => this.addLane(text) }));
    }
    $("play").onclick = () => this.play(!this.playing);
    $("step").onclick = () => this.step();
    $("burst").onclick = () => this.burst();
    $("scrub").oninput = () => { this.play(false); this.show(($("scrub").value / 1000) * this.span); };
    $("outage").onclick = () => this.edit((s) => {
      const at = this.place(), from = Math.min(at, this.span * 0.95);
      s.outages.push({ from: round(from, this.span), to: round(from + this.span / 20, this.span) });
    });
    $("rate").oninput = () => this.edit((s) => { const r = $("rate").valueAsNumber; s.rates = isNaN(r) ? s.good.rates : [r]; }); // the library tells faults
    $("poisson").onchange = () => this.edit((s) => (s.poisson = $("poisson").value !== ""));
    $("clients").onchange = () => this.edit((s) => (s.clients = $("clients").value));
    $("span").oninput = () => this.edit((s) => (s.span = $("span").value.trim()));
    $("measure").oninput = () => this.edit((s) => (s.measure = $("measure").value.trim()));
    $("link").onclick = (e) => {
      this.link.write();
      toClipboard(location.href, e.target);
    };
  }

  keys() {
    addEventListener("keydown", (e) => {
      if (e.key === "Escape") this.detail.close();
      if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, select, button, a")) return;
      if (e.key === " ") this.play(!this.playing);
      else if (e.key === ".") this.step();
      else if (e.key === "b") this.burst();
      else if (e.key === "Home") this.show(0);
      else if (e.key === "End") this.show(this.span);
      else return;
      e.preventDefault();
    });
  }

  /** Opens a scenario, the first experiment if that is empty. Plays it from the start, or shows it as a whole. */
  async open(query, play) {
    const turn = (this.turn = {}), model = await this.weir.load(query || this.weir.experiments[0].query);
    if (turn !== this.turn) return; // something else was opened or edited meanwhile
    if (model.error) {
      $("fault").textContent = "This link cannot be shown: " + model.error;
      if (!this.state) await this.open("", false);
      $("fault").textContent = "This link cannot be shown: " + model.error;
      return;
    }
    if (document.activeElement.matches("input")) document.activeElement.blur(); // what is typed there is of another scenario
    this.state = fromModel(model);
    $("lesson").textContent = "";
    this.accept(model);
    this.play(false);
    await this.show(play ? 0 : this.span);
    if (turn === this.turn && play) this.play(true);
  }

  /** Changes the state, and simulates it anew. Several changes in a row are simulated once. */
  edit(change) {
    change(this.state);
    this.detail.close(); // it may lie over what is edited
    const turn = (this.turn = {});
    requestAnimationFrame(async () => {
      if (turn !== this.turn) return;
      const model = await this.weir.load(toQuery(this.state));
      if (turn !== this.turn) return;
      if (!model.error) return this.replace(model);
      let fault = model.faults.length ? "" : model.error;
      if (parts(this.state) !== this.parts) { // the page must not show a lane that is removed
        const rest = await this.weir.load(toQuery(lastGood(this.state)));
        if (turn !== this.turn) return;
        if (!rest.error) await this.replace(rest, true);
        else { // it is too much: what was added goes again
          fault = rest.error;
          this.state.bursts = [...this.model.bursts];
          this.state.outages = [...this.model.outages];
        }
      }
      for (const lane of this.lanes) lane.showFaults(model.faults);
      $("fault").textContent = fault;
    });
  }

  /** Shows another scenario at the same time. */
  async replace(model, faulty) {
    const atEnd = this.head >= this.span;
    this.accept(model, faulty);
    await this.show(atEnd ? this.span : Math.min(this.head, this.span));
  }

  /** Shows a scenario that the library has loaded: the state, or what was last good of one with faults. */
  accept(model, faulty = false) {
    this.model = model;
    this.parts = parts(this.state);
    if (!faulty) keepGood(this.state);
    this.span = model.span;
    this.simulated = 0; // until this time
    this.link.put(model.query);
    $("fault").textContent = "";
    const { lanes } = this.state;
    if (this.lanes.length !== lanes.length) {
      const focused = this.lanes.findIndex((l) => l.node.contains(document.activeElement));
      this.lanes = lanes.map((_, i) => new LaneView(this, i));
      $("lanes").replaceChildren(...this.lanes.map((l) => l.node));
      if (focused >= 0) this.lanes[Math.min(focused, lanes.length - 1)].node.focus();
    }
    this.lanes.forEach((l, i) => {
      l.show(lanes[i], model.lanes[i], model.span, model.clients === "wait");
      l.remove.disabled = lanes.length === 1;
    });
    this.detail.clear();
    for (const b of $("presets").children) b.disabled = lanes.length === 6;
    const put = (input, text) => { if (document.activeElement !== input) input.value = text; };
    put($("span"), this.state.span);
    put($("measure"), this.state.measure);
    put($("rate"), new Set(this.state.rates).size === 1 ? this.state.rates[0] : "");
    $("poisson").value = this.state.poisson ? "poisson" : "";
    $("clients").value = this.state.clients;
    this.traffic.chips();
    const experiment = this.weir.experiments.find((e) => e.canonical === model.query);
    for (const b of $("experiments").children) {
      b.setAttribute("aria-pressed", String(b.dataset.id === experiment?.id));
      const { left, right } = b.getBoundingClientRect(); // on a small screen, the row scrolls
      if (b.dataset.id === experiment?.id && (left < 0 || right > innerWidth)) $("experiments").scrollLeft += left - 12;
    }
    if (experiment) $("lesson").textContent = experiment.text;
  }

  /**
   * Simulates until an instant. It does so in slices: the answers of some links take minutes.
   * @returns the figures of each lane, or null if another scenario or instant came
   */
  async simulate(time) {
    const { lanes, span, model } = this, wanted = (this.wanted = {});
    let at = Math.min(this.simulated, time), slice = span / 64, figures;
    do {
      const before = performance.now();
      at = Math.min(at + slice, time);
      figures = await this.weir.advance(Math.round(at), model.load);
      if (!figures) return null;
      figures.forEach((f, i) => lanes[i].records.append(f.records));
      this.simulated = Math.max(this.simulated, at);
      if (wanted !== this.wanted) return null;
      if (performance.now() - before < 50) slice *= 2;
      else if (at < time) {
        slice = Math.max(slice / 2, span / 1024);
        $("clock").textContent = seconds(at) + " …";
        await new Promise((ok) => setTimeout(ok)); // the page does what is due
      }
    } while (at < time);
    return figures;
  }

  /** Shows an instant. */
  async show(time) {
    this.head = time;
    const { lanes } = this, figures = await this.simulate(time);
    if (!figures) return;
    figures.forEach((f, i) => lanes[i].showFigures(f, this.model.measureText, this.model.clients));
    $("scrub").value = String((time / this.span) * 1000);
    $("scrub").setAttribute("aria-valuetext", seconds(time));
    $("clock").textContent = `${seconds(time)} / ${seconds(this.span)}`;
    this.draw();
    document.body.dataset.shown = String(Math.round(time)); // for tests: all of this is on the page
  }

  draw() {
    if (!this.state) return;
    this.traffic.draw(this.head, this.colors);
    const scales = this.lanes.map((l) => l.plot.prepare(this.head)); // all lanes have one scale
    const up = Math.min(...scales.map((s) => s[0])), down = Math.min(...scales.map((s) => s[1]));
    this.lanes.forEach((l) => l.plot.draw(this.head, up, down, l.model.limit, l.changeAt(), this.colors));
  }

  play(on) {
    this.playing = on;
    $("play").textContent = on ? "Pause" : "Play";
    if (!on) return;
    if (this.head >= this.span) this.head = 0;
    const real = Math.min(Math.max(this.span / 1e6, 6000), 20000); // milliseconds for the whole span
    const run = (this.running = {});
    let before = performance.now(), pause = before;
    const frame = async (now) => {
      if (!this.playing || this.running !== run) return;
      if (!calm.matches || now - pause >= 500) { // without motion, a picture each half second
        pause = now;
        const to = Math.min(this.head + (Math.min(now - before, calm.matches ? 1000 : 100) / real) * this.span, this.span);
        before = now;
        await this.show(to);
        if (to >= this.span) return this.play(false);
      }
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  /** Goes on to the next answer of any lane. */
  async step() {
    this.play(false);
    const from = this.head >= this.span ? -1 : this.head;
    if (!(await this.simulate(this.span))) return;
    await this.show(Math.min(...this.lanes.map(({ records }) => records.nextMark(from) ?? this.span)));
  }

  /** Where a burst or an outage goes: at the time that is shown, or in the middle if that is the end. */
  place() { return this.head < this.span ? this.head : this.span / 2; }

  burst() {
    const n = Math.min(Math.max(Math.round($("burstSize").valueAsNumber || 20), 1), 5000);
    $("burstSize").value = n;
    this.edit((s) => s.bursts.push({ at: round(this.place(), this.span), n }));
  }

  addLane(text) {
    this.edit((s) => { if (s.lanes.length < 6) s.lanes.push({ text, then: null, at: "" }); });
  }

  removeLane(i) {
    this.edit((s) => { if (s.lanes.length > 1) s.lanes.splice(i, 1); });
  }

  /** Changes a lane, if it was not removed a moment ago. */
  editLane(i, change) {
    this.edit((s) => { if (s.lanes[i]) change(s.lanes[i]); });
  }

  /** Lets a policy change at the time that is shown, at first to one of half the limit. */
  addChange(i) {
    this.editLane(i, (l) => {
      l.at = duration(round(this.place(), this.span));
      l.then = l.text.replace(/\d+(?=\/)/, (n) => String(Math.max(Math.floor(n / 2), 1)));
    });
  }

  async describe(view, i) {
    for (const l of this.lanes) if (l !== view) l.plot.selected = -1;
    this.draw();
    const { load } = this.model, d = await this.weir.describe(view.index, i, load);
    if (!d || load !== this.model.load) return;
    this.detail.show(view, d);
  }
}

document.querySelector(".skip").onclick = (e) => {
  e.preventDefault(); // the address holds the scenario
  $("lanes").focus();
};

document.addEventListener("weir", async () => {
  const app = new App(globalThis.weirPlay);
  $("loading").hidden = true;
  $("main").hidden = false;
  await app.open(location.hash.slice(1), false);
}, { once: true });

const go = new Go();
// A server may not know the type of the file, without which it cannot be read while it comes.
fetch("weir.wasm").then((r) => (r.headers.get("Content-Type") === "application/wasm" ? WebAssembly.instantiateStreaming(r, go.importObject)
  : r.arrayBuffer().then((b) => WebAssembly.instantiate(b, go.importObject)))).then(
  ({ instance }) => go.run(instance).then(() => {
    $("loading").hidden = false;
    $("loading").textContent = "weir has stopped. Load the page again.";
  }),
  (error) => ($("loading").textContent = "weir could not be loaded: " + error),
);
