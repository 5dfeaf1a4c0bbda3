// The plot of a lane: above, a mark for each request; below, the curve of what remains.

import { LEFT, begin, playhead, short, timeAxis } from "./chart.js";
import { Columns, DENIED, GRANTED, HELD, LOOK, WAITS } from "./records.js";

const COLUMN = 5; // width of a column of marks
const UP = 58, DOWN = 34, GAP = 10; // heights

export class LanePlot {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.columns = null;
    this.selected = -1;
  }

  /** Forgets what was drawn: other records come. */
  reset(records, span, line) {
    this.records = records;
    this.line = line; // whether clients wait in line
    this.span = span;
    this.columns = null;
    this.selected = -1;
  }

  /** The scale that this lane needs: pixels of a request, above and below the line. */
  prepare(head) {
    const plot = Math.max(this.canvas.clientWidth - LEFT - 10, 1);
    this.end = this.records.until(head);
    const c = this.columns;
    if (!c || c.count !== Math.max(Math.floor(plot / COLUMN), 1) || c.seen > this.end) {
      this.columns = new Columns(this.records, this.span, plot, COLUMN);
    }
    this.columns.read(this.end);
    const [up, down] = this.columns.most();
    return [Math.min(COLUMN, UP / up), Math.min(COLUMN, DOWN / down)];
  }

  draw(head, unit, unitDown, limit, change, colors) {
    const { g, width, height, plot } = begin(this.canvas);
    this.unit = unit;
    this.unitDown = unitDown;
    const bottom = height - 16, top = UP + DOWN + GAP;
    timeAxis(g, colors, this.span, plot, 0, bottom, true);
    if (change !== null) this.drawChange(g, colors, LEFT + (plot * change) / this.span, bottom);
    this.drawCurve(g, colors, plot, top, bottom, limit);
    this.drawMarks(g, colors, plot);
    g.fillStyle = colors.rule;
    g.fillRect(LEFT, UP, plot, 1);
    playhead(g, colors, LEFT + (plot * head) / this.span, bottom);
    if (this.selected >= 0 && this.selected < this.end) this.drawSelected(g, colors, plot);
    return width;
  }

  drawChange(g, colors, x, bottom) {
    g.strokeStyle = colors.ink;
    g.setLineDash([3, 3]);
    g.beginPath();
    g.moveTo(x, 0);
    g.lineTo(x, bottom);
    g.stroke();
    g.setLineDash([]);
  }

  drawMarks(g, colors, plot) {
    const c = this.columns, w = plot / c.count, unit = this.unit, down = this.unitDown;
    const apart = (u) => (u >= 4 ? 1 : 0); // single marks are told apart if there is room
    const stack = (x, from, n, u, color, direction) => {
      if (!n) return;
      g.fillStyle = color;
      if (!apart(u)) {
        g.fillRect(x, direction < 0 ? UP - (from + n) * u : UP + 2 + from * u, Math.max(w - 1, 1), Math.max(n * u, 1));
        return;
      }
      for (let i = from; i < from + n; i++) {
        const y = direction < 0 ? UP - (i + 1) * u : UP + 2 + i * u;
        g.beginPath();
        g.roundRect(x, y, w - 1, u - 1, 1.5);
        g.fill();
      }
    };
    for (let i = 0; i < c.count; i++) {
      const x = LEFT + i * w;
      stack(x, 0, c.granted[i], unit, colors.granted, -1);
      stack(x, c.granted[i], c.held[i], unit, colors.held, -1);
      stack(x, 0, c.denied[i], down, colors.denied, 1);
    }
  }

  /** What remains, and how many wait: both on one axis. */
  drawCurve(g, colors, plot, top, bottom, limit) {
    const r = this.records, height = bottom - top;
    let most = Math.max(limit, 1), waiting = 0, mostWaiting = 0, peak = 0;
    for (let i = 0; i < this.end; i++) {
      if (r.kind(i) === LOOK || r.kind(i) === GRANTED) most = Math.max(most, r.remaining(i));
      waiting += this.joins(i);
      if (waiting > mostWaiting) [mostWaiting, peak] = [waiting, i];
    }
    most = Math.max(most, mostWaiting);
    const x = (i) => LEFT + (plot * r.at(i)) / this.span, y = (n) => bottom - (height * Math.max(n, 0)) / most;
    if (mostWaiting) {
      g.fillStyle = colors.held;
      g.globalAlpha = 0.28;
      g.beginPath();
      g.moveTo(LEFT, bottom);
      waiting = 0;
      for (let i = 0; i < this.end; i++) {
        const step = this.joins(i);
        if (!step) continue;
        g.lineTo(x(i), y(waiting));
        g.lineTo(x(i), y((waiting += step)));
      }
      g.lineTo(x(this.end - 1), y(waiting));
      g.lineTo(x(this.end - 1), bottom);
      g.fill();
      g.globalAlpha = 1;
    }
    g.beginPath();
    let last = -1;
    for (let i = 0; i < this.end; i++) {
      const kind = r.kind(i);
      if (kind === HELD || kind === WAITS) continue; // they were answered earlier
      const now = y(r.remaining(i));
      if (last < 0) g.moveTo(x(i), now);
      else {
        g.lineTo(x(i), last);
        g.lineTo(x(i), now);
      }
      last = now;
    }
    g.strokeStyle = colors.curve;
    g.lineWidth = 1.5;
    g.stroke();
    if (this.end) {
      g.lineTo(x(this.end - 1), bottom);
      g.lineTo(LEFT, bottom);
      g.fillStyle = colors.fill;
      g.fill();
    }
    g.textAlign = "right";
    g.fillStyle = colors.soft;
    g.fillText(short(most), LEFT - 5, top + 8);
    g.fillText("0", LEFT - 5, bottom);
    if (mostWaiting > 1) {
      g.textAlign = "center";
      g.fillStyle = colors.held;
      g.fillText(mostWaiting + " wait", Math.min(Math.max(x(peak), LEFT + 24), LEFT + plot - 24), y(mostWaiting) - 3);
    }
  }

  /** By how many a record changes the number of those who wait. */
  joins(i) {
    const r = this.records, kind = r.kind(i);
    if (kind === WAITS) return 1;
    return kind === HELD || (kind === DENIED && this.line && r.came(i) < r.at(i)) ? -1 : 0;
  }

  drawSelected(g, colors, plot) {
    const i = this.selected, kind = this.records.kind(i), c = this.columns;
    const x = LEFT + (c.column(this.records.at(i)) + 0.5) * (plot / c.count);
    g.strokeStyle = colors.ink;
    g.lineWidth = 1.5;
    g.beginPath();
    if (kind === HELD) {
      const from = LEFT + (plot * this.records.came(i)) / this.span;
      g.moveTo(from, UP);
      g.lineTo(from, UP - 6);
      g.moveTo(from, UP - 3);
      g.lineTo(x, UP - 3);
    }
    const [y, h] = kind === DENIED ? [UP, DOWN] : [0, UP];
    g.strokeRect(x - 5, y + 1, 10, h - 2);
    g.stroke();
  }

  /** The record at a place of the canvas, or the one next to it in time; -1 if there is none. */
  hit(px, py) {
    const plot = this.canvas.clientWidth - LEFT - 10, c = this.columns, r = this.records;
    if (!c || !this.end) return -1;
    const column = c.column(Math.min(Math.max(((px - LEFT) / plot) * this.span, 0), this.span));
    const below = py > UP;
    let rank = Math.floor(below ? (py - UP) / this.unitDown : (UP - py) / this.unit);
    const from = r.until((column / c.count) * this.span - 1), to = r.until(((column + 1) / c.count) * this.span);
    let found = -1;
    for (let i = from; i < Math.min(to, this.end); i++) {
      if (!r.marked(i) || c.column(r.at(i)) !== column || (r.kind(i) === DENIED) !== below) continue;
      found = i;
      if (rank-- <= 0) return i;
    }
    if (found >= 0) return found;
    return this.near(((px - LEFT) / plot) * this.span);
  }

  near(time) {
    const i = this.records.until(time);
    const before = this.next(i, -1), after = this.next(i - 1, 1);
    if (before < 0 || after < 0) return Math.max(before, after);
    return time - this.records.at(before) < this.records.at(after) - time ? before : after;
  }

  /** The next mark after record i, or before it if step is -1; -1 if there is none. */
  next(i, step) {
    for (i += step; i >= 0 && i < this.end; i += step) if (this.records.marked(i)) return i;
    return -1;
  }
}
