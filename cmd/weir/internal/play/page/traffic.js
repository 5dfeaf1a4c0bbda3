// The traffic: a curve of the rate that is drawn by dragging, with bursts and outages.

import { LEFT, RIGHT, begin, nice, playhead, short, timeAxis } from "./chart.js";
import { element } from "./lane.js";
import { PARTS, seconds } from "./scenario.js";

const BOTTOM = 16; // for the labels
const $ = (id) => document.getElementById(id);

export class TrafficView {
  /** @param {import("./app.js").App} app */
  constructor(app) {
    this.app = app;
    this.canvas = $("flow");
    this.part = 0; // that the keyboard changes
    this.most = 1; // of the axis; it stays while a pointer drags
    this.dragging = null;
    this.canvas.onpointerdown = (e) => {
      this.canvas.setPointerCapture(e.pointerId);
      this.drag(e);
    };
    this.canvas.onpointermove = (e) => { if (this.dragging !== null) this.drag(e); };
    this.canvas.onpointerup = this.canvas.onpointercancel = () => {
      this.dragging = null;
      this.app.draw();
    };
    this.canvas.onkeydown = (e) => this.key(e);
  }

  /** The rates, in as many parts as can be drawn. */
  parts() {
    const { rates } = this.app.state, n = Math.max(PARTS, rates.length);
    return rates.length >= PARTS ? rates.slice() : Array.from({ length: n }, (_, i) => rates[Math.floor((i * rates.length) / n)]);
  }

  set(first, last, rate) {
    const rates = this.parts();
    for (let i = Math.max(first, 0); i <= Math.min(last, rates.length - 1); i++) rates[i] = rate;
    this.app.edit((s) => (s.rates = rates));
  }

  drag(e) {
    const box = this.canvas.getBoundingClientRect(), rates = this.parts();
    const at = (x) => Math.floor(((x - LEFT) / (box.width - LEFT - RIGHT)) * rates.length);
    const part = Math.min(Math.max(at(e.clientX - box.left), 0), rates.length - 1);
    const height = box.height - BOTTOM;
    const share = Math.min(Math.max((height - (e.clientY - box.top)) / height, 0), 1);
    const rate = Math.round(share * this.most * 20 / nice(this.most)) * nice(this.most) / 20; // steps that look round
    const from = this.dragging ?? part;
    this.dragging = part;
    this.part = part;
    this.set(Math.min(from, part), Math.max(from, part), rate);
  }

  key(e) {
    const rates = this.parts(), step = this.most / 20;
    const moves = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };
    if (e.key in moves) this.part = Math.min(Math.max(this.part + moves[e.key], 0), rates.length - 1);
    else if (e.key === "ArrowUp") this.set(this.part, this.part, Math.round((rates[this.part] + step) * 1000) / 1000);
    else if (e.key === "ArrowDown") this.set(this.part, this.part, Math.max(Math.round((rates[this.part] - step) * 1000) / 1000, 0));
    else return;
    e.preventDefault();
    this.draw(this.app.head, this.app.colors);
  }

  draw(head, colors) {
    const { state, span } = this.app;
    const { g, width, height, plot } = begin(this.canvas);
    const bottom = height - BOTTOM, rates = state.rates;
    const highest = Math.max(...rates) || 8; // an axis for traffic of bursts alone
    if (this.dragging === null && (highest > this.most * 0.95 || highest < this.most * 0.3)) this.most = nice(highest * 1.3);
    const x = (t) => LEFT + (plot * t) / span, y = (r) => bottom - (bottom - 6) * Math.min(r / this.most, 1);
    timeAxis(g, colors, span, plot, 0, bottom, true);
    for (const o of state.outages) {
      g.fillStyle = colors.fill;
      g.fillRect(x(o.from), 0, x(o.to) - x(o.from), bottom);
    }
    g.beginPath();
    g.moveTo(LEFT, bottom);
    rates.forEach((r, i) => {
      g.lineTo(LEFT + (plot * i) / rates.length, y(r));
      g.lineTo(LEFT + (plot * (i + 1)) / rates.length, y(r));
    });
    g.lineTo(LEFT + plot, bottom);
    g.globalAlpha = 0.16;
    g.fillStyle = colors.accent;
    g.fill();
    g.globalAlpha = 1;
    g.strokeStyle = colors.accent;
    g.lineWidth = 1.5;
    g.stroke();
    const rows = [[], []];
    // Writes a label into a row where it has room, and returns the row, or -1: the buttons below tell all.
    const label = (text, color, at) => {
      const w = g.measureText(text).width + 4, left = (row) => Math.max(Math.min(row ? at : at - w / 2, width - w), LEFT);
      const row = rows.findIndex((r, i) => r.every(([a, b]) => left(i) >= b || left(i) + w <= a));
      if (row < 0) return row;
      const from = left(row); // in the second row, beside the line of the burst before
      rows[row].push([from, from + w]);
      g.fillStyle = color;
      g.fillText(text, from + 2, 12 + row * 13);
      return row;
    };
    g.textAlign = "left";
    for (const b of state.bursts) {
      const row = label("+" + b.n, colors.ink, x(b.at));
      g.strokeStyle = colors.ink;
      g.beginPath();
      g.moveTo(x(b.at), bottom);
      g.lineTo(x(b.at), row ? 29 : 16);
      g.stroke();
    }
    for (const o of state.outages) label("outage", colors.soft, (x(o.from) + x(o.to)) / 2);
    g.textAlign = "right";
    g.fillStyle = colors.soft;
    g.fillText(short(this.most), LEFT - 5, 14);
    g.fillText("/s", LEFT - 5, 26);
    if (document.activeElement === this.canvas) {
      const w = plot / Math.max(PARTS, rates.length);
      g.strokeStyle = colors.ink;
      g.strokeRect(LEFT + this.part * w, 1, w, bottom - 2);
    }
    playhead(g, colors, x(head), bottom);
    this.announce();
  }

  /** The bursts and outages, each with a button that removes it. */
  chips() {
    const { state } = this.app;
    const chip = (text, list, i) =>
      element("button", { type: "button", textContent: text + " ×", ariaLabel: "Remove " + text, onclick: () => this.app.edit((s) => s[list].splice(i, 1)) });
    const focused = [...$("chips").children].indexOf(document.activeElement);
    $("chips").replaceChildren(
      ...state.bursts.map((b, i) => chip(`+${b.n} at ${seconds(b.at)}`, "bursts", i)),
      ...state.outages.map((o, i) => chip(`outage ${seconds(o.from)} to ${seconds(o.to)}`, "outages", i)),
    );
    if (focused >= 0) ($("chips").children[focused] ?? $("chips").lastChild ?? $("outage")).focus();
  }

  announce() {
    const rates = this.parts(), part = this.app.span / rates.length, i = Math.min(this.part, rates.length - 1);
    this.canvas.setAttribute("aria-valuemax", String(this.most));
    this.canvas.setAttribute("aria-valuenow", String(rates[i]));
    this.canvas.setAttribute("aria-valuetext", `from ${seconds(i * part)} to ${seconds((i + 1) * part)}: ${rates[i]} requests a second`);
  }
}
