// The state of the page, and its text. The text is that of sim.Parse, which also checks it: this
// file only writes.

/**
 * @typedef {{text: string, then: string|null, at: string, good?: object}} Lane  at is a duration as text
 * @typedef {{at: number, n: number}} Burst
 * @typedef {{from: number, to: number}} Outage
 * @typedef {{lanes: Lane[], span: string, rates: number[], poisson: boolean, bursts: Burst[],
 *   outages: Outage[], clients: string, measure: string, good?: object}} State  instants are in nanoseconds
 */

/** How many parts the drawn rate has. */
export const PARTS = 60;

export const PRESETS = [
  ["Token bucket", "10/1s"],
  ["Small burst", "token-bucket 10/1s burst=3"],
  ["Leaky bucket", "leaky-bucket 10/1s"],
  ["Fixed window", "fixed-window 10/1s"],
  ["Sliding window", "sliding-window 10/1s"],
  ["Sliding log", "sliding-log 10/1s"],
  ["Calendar", "calendar-window 100/minute"],
  ["Two at once", "all(10/1s, 40/10s)"],
  ["Two tiers", "tiers(5/1s, 20/10s)"],
];

/** @param {number} ns @returns {string} a duration that Go reads */
export function duration(ns) {
  ns = Math.round(ns);
  return ns >= 1e9 || ns === 0 ? +(ns / 1e9).toFixed(9) + "s" : +(ns / 1e6).toFixed(6) + "ms";
}

/** @param {number} ns @returns {string} for people */
export function seconds(ns) {
  const s = ns / 1e9;
  if (s >= 7200) return (s / 3600).toFixed(1) + " h";
  if (s >= 180) return (s / 60).toFixed(1) + " min";
  if (s > 0 && s < 0.01) return +(s * 1000).toFixed(3) + " ms";
  return (s < 10 ? s.toFixed(2) : s.toFixed(1)) + " s";
}

/** @param {string} value */
const escape = (value) =>
  encodeURIComponent(value.toWellFormed()).replace(/%20/g, "+").replace(/%(2F|2C|3A|3D)/g, decodeURIComponent);

/** @param {State} s @returns {string} */
export function toQuery(s) {
  const fields = s.lanes.map((l) => ["p", l.then === null ? l.text : `${l.text}~${l.at}~${l.then}`]);
  fields.push(["r", s.rates.map((r) => Math.round(r * 1000) / 1000).join(",")]);
  if (s.poisson) fields.push(["x", "poisson"]);
  if (s.bursts.length) fields.push(["b", s.bursts.map((b) => duration(b.at) + ":" + b.n).join(",")]);
  if (s.outages.length) fields.push(["o", s.outages.map((o) => duration(o.from) + "-" + duration(o.to)).join(",")]);
  if (s.clients !== "once") fields.push(["c", s.clients]);
  fields.push(["t", s.span], ["m", s.measure]);
  return fields.map(([name, value]) => name + "=" + escape(value)).join("&");
}

/** The state of a scenario that the library has read. @returns {State} */
export function fromModel(model) {
  return {
    lanes: model.lanes.map((l) => ({ text: l.text, then: l.then ? l.then.text : null, at: l.then ? duration(l.at) : "" })),
    span: model.spanText,
    rates: model.rates,
    poisson: model.poisson,
    bursts: [...model.bursts],
    outages: [...model.outages],
    clients: model.clients,
    measure: model.measureText,
  };
}

/** Which lanes, bursts and outages a state has. @param {State} s */
export const parts = (s) => JSON.stringify([s.lanes.length, s.bursts, s.outages]);

/** Keeps in a state that the library takes what people type. @param {State} s */
export function keepGood(s) {
  const { span, rates, measure } = s;
  s.good = { span, rates, measure };
  for (const l of s.lanes) l.good = { text: l.text, then: l.then, at: l.at };
}

/** A state with what was good last in place of what is typed. @param {State} s @returns {State} */
export const lastGood = (s) => ({ ...s, ...s.good, lanes: s.lanes.map((l) => ({ ...l, ...l.good })) });

/** The text of a policy around the byte of its fault. @param {string} text @param {number} at */
export function around(text, at) {
  const bytes = new TextEncoder().encode(text);
  const before = new TextDecoder().decode(bytes.slice(0, at));
  const rest = new TextDecoder().decode(bytes.slice(at));
  const marked = rest.match(/^.[^\s,()]*/)?.[0] ?? "";
  return [before, marked || "⌃", rest.slice(marked.length)];
}

/** Rounds an instant, so that links stay short. It rounds down: what is put at the time that is shown is seen there. */
export const round = (t, span) => Math.floor(t / (span / 1000) + 1e-6) * (span / 1000);
