// A lane: a policy as text, its plot, and its figures.

import { LanePlot } from "./laneplot.js";
import { Records } from "./records.js";
import { around, seconds } from "./scenario.js";

/** Makes an element. @param {string} name */
export function element(name, properties = {}, ...children) {
  const e = Object.assign(document.createElement(name), properties);
  e.append(...children);
  return e;
}

/** Copies a text, and says so on the button for a moment. */
export async function toClipboard(text, button) {
  button.dataset.label ??= button.textContent; // it may say "Copied" still
  button.textContent = (await copy(text)) ? "Copied" : "Not copied";
  setTimeout(() => (button.textContent = button.dataset.label), 1200);
}

/** @param {string} text @returns {Promise<boolean>} whether it is copied */
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text).then(() => true, () => false);
  const put = (e) => { // a page that came without https copies as a person does
    e.clipboardData.setData("text/plain", text);
    e.preventDefault();
  };
  addEventListener("copy", put);
  const copied = document.execCommand("copy");
  removeEventListener("copy", put);
  return copied;
}

/**
 * Writes a fault below the text that has it.
 * @param {HTMLElement} place @param {string} text @param {{byte: number, reason: string}|undefined} fault
 */
export function showFault(place, input, text, fault) {
  place.replaceChildren();
  input.removeAttribute("aria-invalid");
  if (!fault) return;
  input.setAttribute("aria-invalid", "true");
  const [before, marked, after] = around(text, fault.byte);
  place.append(element("code", {}, before, element("mark", { textContent: marked }), after), `At byte ${fault.byte}: ${fault.reason}`);
}

export class LaneView {
  /** @param {import("./app.js").App} app */
  constructor(app, index) {
    this.app = app;
    this.index = index;
    this.records = new Records();
    const n = index + 1, id = "lane" + n;
    const copy = (what, label) =>
      element("button", { type: "button", textContent: label, title: `Copy policy ${n} as ${label}`, onclick: (e) => toClipboard(this.copyText(what), e.target) });
    this.text = element("input", { className: "text", id, spellcheck: false, autocomplete: "off", ariaLabel: `Policy ${n}` });
    this.fault = element("p", { className: "fault", id: id + "Fault", role: "alert" });
    this.text.setAttribute("aria-describedby", id + "Fault " + id + "Words");
    this.text.oninput = () => app.editLane(index, (l) => (l.text = this.text.value));
    this.changeButton = element("button", { type: "button", textContent: "Change in use", onclick: () => app.addChange(index) });
    this.remove = element("button", { type: "button", textContent: "Remove", ariaLabel: `Remove policy ${n}`, onclick: () => app.removeLane(index) });
    this.at = element("input", { className: "at", spellcheck: false, ariaLabel: `When policy ${n} changes` });
    this.at.oninput = () => app.editLane(index, (l) => (l.at = this.at.value.trim()));
    this.then = element("input", { className: "text", spellcheck: false, ariaLabel: `What policy ${n} changes to` });
    this.then.oninput = () => app.editLane(index, (l) => (l.then = this.then.value));
    this.thenFault = element("p", { className: "fault", id: id + "ThenFault", role: "alert" });
    this.then.setAttribute("aria-describedby", this.thenFault.id);
    this.thenRow = element("div", { className: "then row" }, "from", this.at, "on:", this.then,
      element("button", { type: "button", textContent: "No change", onclick: () => app.editLane(index, (l) => (l.then = null)) }));
    this.words = element("p", { className: "words", id: id + "Words" });
    this.canvas = element("canvas", { tabIndex: 0, role: "slider", ariaLabel: `Answers of policy ${n}. Left and right choose one.` });
    this.figures = element("dl", { className: "figures" });
    this.node = element("article", { className: "lane", tabIndex: -1, ariaLabel: `Policy ${n}` },
      element("div", { className: "row" }, this.text,
        element("span", { className: "tools" }, this.changeButton, element("span", { className: "label", textContent: "Copy" }),
          copy("go", "Go"), copy("text", "Text"), copy("json", "JSON"), this.remove)),
      this.fault, this.thenRow, this.thenFault, this.words, this.canvas, this.figures);
    this.plot = new LanePlot(this.canvas);
    this.listen();
  }

  listen() {
    const choose = (e) => {
      const box = this.canvas.getBoundingClientRect();
      this.select(this.plot.hit(e.clientX - box.left, e.clientY - box.top));
    };
    this.canvas.onpointermove = (e) => { if (e.pointerType === "mouse") choose(e); };
    this.canvas.onclick = choose;
    this.canvas.onkeydown = (e) => {
      const { plot } = this, i = plot.selected;
      let next = -1;
      if (e.key === "ArrowRight" || e.key === "ArrowDown") next = plot.next(i, 1);
      else if (e.key === "ArrowLeft" || e.key === "ArrowUp") next = plot.next(i < 0 ? plot.end : i, -1);
      else if (e.key === "PageDown") next = plot.near(plot.records.at(Math.max(i, 0)) + plot.span / 20);
      else if (e.key === "PageUp") next = plot.near(plot.records.at(Math.max(i, 0)) - plot.span / 20);
      else return;
      e.preventDefault();
      if (next >= 0) this.select(next);
    };
  }

  select(i) {
    if (i < 0 || i === this.plot.selected) return;
    this.plot.selected = i;
    this.app.describe(this, i);
  }

  copyText(what) {
    const m = this.model;
    if (!m) return "";
    return what === "go" ? `limiter := weir.Must(weir.New(${m.go}))` : what === "json" ? JSON.stringify({ limit: m.text }) : m.text;
  }

  /** Shows what the page knows of the lane. */
  show(lane, model, span, line) {
    this.model = model;
    const put = (input, text) => { if (document.activeElement !== input) input.value = text; };
    put(this.text, lane.text);
    put(this.then, lane.then ?? "");
    put(this.at, lane.at);
    const focused = document.activeElement;
    this.thenRow.hidden = lane.then === null;
    this.changeButton.hidden = lane.then !== null;
    if (focused === this.changeButton && this.changeButton.hidden) this.at.focus();
    if (this.thenRow.contains(focused) && this.thenRow.hidden) this.changeButton.focus();
    this.words.textContent = model ? model.words.concat(model.then ? ["Then: " + model.then.words.join("\n")] : []).join("\n") : "";
    this.records = new Records();
    this.plot.reset(this.records, span, line);
    this.showFaults([]);
    this.announce("no answer is chosen");
  }

  showFaults(faults) {
    const of = (then) => faults.find((f) => f.lane === this.index && f.then === then);
    showFault(this.fault, this.text, this.text.value, of(false));
    showFault(this.thenFault, this.then, this.then.value, of(true));
  }

  /** @param {any} f the figures of this lane */
  showFigures(f, measure, clients) {
    const m = this.model, rows = [["granted", f.granted, "granted"]];
    if (clients === "mixed") rows.push(["", f.hammered, "of them to clients that hammer"]);
    if (clients === "wait") rows.push(["held", f.held, "held back"], ["held", f.waiting, "waiting"]);
    const worst = m.then ? `${m.most}, then ${m.then.most}` : m.most;
    rows.push(["denied", f.denied, "denied"], ["", f.busiest, `most in any ${measure}, at worst ${worst}`]);
    if (f.longest > 0) rows.push(["", seconds(f.longest), "longest wait"]);
    if (f.full) rows.push(["denied", "stopped", "too many answers to show: lower the rate"]);
    const cells = rows.map(([kind, value, name]) => {
      const text = typeof value === "number" ? value.toLocaleString("en") : value;
      const cell = element("div", { className: kind }, element("dt", { textContent: name }), element("dd", { textContent: text }));
      cell.dataset.name = name;
      return cell;
    });
    this.figures.replaceChildren(...cells);
  }

  /** For readers of the screen. */
  announce(what) {
    this.canvas.setAttribute("aria-valuemin", "0");
    this.canvas.setAttribute("aria-valuemax", String(Math.max(this.records.length - 1, 0)));
    this.canvas.setAttribute("aria-valuenow", String(Math.max(this.plot.selected, 0)));
    this.canvas.setAttribute("aria-valuetext", what);
  }

  changeAt() { return this.model && this.model.then ? this.model.at : null; }
}
