// Drawing that all canvases share.

/** @returns {Record<string, string>} the colors of the page */
export function theme() {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue("--" + name).trim();
  return Object.fromEntries(
    ["ink", "soft", "rule", "granted", "held", "denied", "curve", "fill", "accent", "panel"].map((n) => [n, color(n)]),
  );
}

/** Left and right of every plot: the lanes and the traffic have one time axis. */
export const LEFT = 34;
export const RIGHT = 10;

/**
 * Fits the canvas to the screen and clears it.
 * @param {HTMLCanvasElement} canvas
 */
export function begin(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  g.font = "11px system-ui, sans-serif";
  return { g, width, height, plot: Math.max(width - LEFT - RIGHT, 1) };
}

/** @param {number} most @returns {number} the next of 1, 2, 5, 10 … */
export function nice(most) {
  const p = 10 ** Math.floor(Math.log10(Math.max(most, 1e-9)));
  return [1, 2, 5, 10].map((f) => f * p).find((v) => v >= most * 0.9999) ?? most;
}

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/** A number for the axis on the left, which has room for four digits. @param {number} n */
export function short(n) {
  if (n >= 1e15 || n < 0.01) return n ? n.toExponential(0).replace("+", "") : "0";
  return n < 1e4 ? String(+n.toPrecision(4)) : compact.format(n);
}

/** The next time in seconds that looks round. @param {number} s */
function round(s) {
  if (s <= 30) return nice(s);
  return [1, 2, 5, 10, 30, 60, 120, 360, 720, 1440].map((m) => m * 60).find((v) => v >= s) ?? nice(s / 86400) * 86400;
}

/** Lines of the time axis, with labels if there is a place for them. */
export function timeAxis(g, colors, span, plot, top, bottom, label) {
  const step = round(span / 1e9 / (plot > 500 ? 10 : 5)) * 1e9;
  g.strokeStyle = colors.rule;
  g.fillStyle = colors.soft;
  g.lineWidth = 1;
  g.textAlign = "center";
  g.beginPath();
  for (let t = 0; t <= span * 1.0001; t += step) {
    const x = Math.round(LEFT + (plot * t) / span) + 0.5;
    g.moveTo(x, top);
    g.lineTo(x, bottom);
    if (!label || (t >= span * 0.97 && plot <= 500)) continue;
    const text = tick(t, step);
    g.fillText(text, Math.min(x, LEFT + plot + RIGHT - g.measureText(text).width / 2), bottom + 12);
  }
  g.stroke();
}

function tick(t, step) {
  const s = t / 1e9;
  if (step >= 86400e9) return Math.round(s / 86400) + "d";
  if (step >= 3600e9) return Math.round(s / 3600) + "h";
  if (step >= 60e9) return Math.round(s / 60) + "m";
  if (step < 1e7) return +(s * 1000).toFixed(3) + "ms";
  return +s.toFixed(3) + "s";
}

/** The line at the time that the page shows. */
export function playhead(g, colors, x, bottom) {
  g.strokeStyle = colors.accent;
  g.lineWidth = 1.5;
  g.beginPath();
  g.moveTo(x, 0);
  g.lineTo(x, bottom);
  g.stroke();
}
