// Logs that are dropped on the page: what would the policies of the lanes have refused?

import { element } from "./lane.js";
import { seconds } from "./scenario.js";

const LARGEST = 512 * 1024 * 1024;
const $ = (id) => document.getElementById(id);

export class LogView {
  /** @param {import("./app.js").App} app */
  constructor(app) {
    this.app = app;
    this.worker = null;
    $("file").onclick = () => ($("file").value = ""); // the same log may be chosen again, for other policies
    $("file").onchange = () => this.run([...$("file").files]);
    const hasFiles = (e) => e.dataTransfer.types.includes("Files"); // a text is dropped into a field
    addEventListener("dragover", (e) => { if (hasFiles(e)) e.preventDefault(); });
    addEventListener("drop", (e) => {
      if (!hasFiles(e)) return;
      e.preventDefault();
      this.run([...e.dataTransfer.files]);
    });
  }

  /** Replays the parts of one log, which are merged by time. @param {File[]} files */
  async run(files) {
    if (!files.length) return;
    const turn = (this.turn = {}), reading = "Reading " + (files.length === 1 ? files[0].name : files.length + " logs") + " …";
    this.worker?.terminate(); // it may be at work on another log
    this.say(reading);
    $("logTable").hidden = true;
    if (files.reduce((sum, f) => sum + f.size, 0) > LARGEST) return this.say("The log is too large for a browser: over 512 MB. Use weir replay.");
    try {
      const logs = await Promise.all(files.map(async (f) => ({ name: f.name, bytes: new Uint8Array(await f.arrayBuffer()) })));
      if (turn !== this.turn) return; // a later log takes its place
      const policies = this.app.state.lanes.map((l) => l.text);
      this.show(JSON.parse(await this.ask({ logs, policies }, reading)));
    } catch (error) {
      if (turn === this.turn) this.say(error.message);
    }
  }

  /** Asks a worker, which takes the memory of the logs with it when it ends. @returns {Promise<string>} the report */
  ask(message, reading) {
    const worker = (this.worker = new Worker("worker.js"));
    return new Promise((ok, fail) => {
      worker.onmessage = ({ data }) => {
        if (data.ready) worker.postMessage(message, message.logs.map((l) => l.bytes.buffer));
        else if ("progress" in data) this.say(`${reading} ${data.progress} %`);
        else if (data.error) fail(new Error(data.error));
        else ok(data.report);
      };
      worker.onerror = (e) => fail(new Error("the log could not be replayed: " + e.message));
    }).finally(() => worker.terminate());
  }

  say(text) { $("logSays").textContent = text; }

  show(report) {
    const count = (n) => n.toLocaleString("en"), many = (n, what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;
    const said = report.files.map((f) => `${f.name}: ${f.format && f.format + ", "}${many(f.lines, "line")}` +
      (f.bad ? `, ${count(f.bad)} of them not understood, the first is ${f.first_bad}` : "") +
      (f.ignored ? `, ${many(f.ignored, "byte")} after the end of the gzip ignored.` : "."));
    said.push(!report.requests ? "No request was found." : `${many(report.requests, "request")} of ${many(report.clients, "client")}, ` +
      `by address, in ${seconds((new Date(report.to) - new Date(report.from)) * 1e6)}.`);
    for (const f of report.files) if (f.error) said.push(`The rest of the log cannot be read: ${f.error}.`);
    this.say(said.join(" "));
    if (!report.requests) return;
    const percent = (n, all) => `${count(n)} (${+((100 * n) / all).toPrecision(3)} %)`;
    $("logRows").replaceChildren(...report.policies.map((p) =>
      element("tr", {}, element("th", { scope: "row", textContent: p.policy }),
        ...[percent(p.refused, report.requests), percent(p.hit, report.clients), count(p.early), seconds(p.longest_shut_out_ns),
          p.worst.length ? `${p.worst[0].key}: ${count(p.worst[0].refused)} of ${count(p.worst[0].requests)}` : "nobody"]
          .map((text) => element("td", { textContent: text })))));
    $("logTable").hidden = false;
  }
}
