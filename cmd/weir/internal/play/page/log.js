// A log that is dropped on the page: what would the policies of the lanes have refused?

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
    $("file").onchange = () => { if ($("file").files.length) this.run($("file").files[0]); };
    const hasFiles = (e) => e.dataTransfer.types.includes("Files"); // a text is dropped into a field
    addEventListener("dragover", (e) => { if (hasFiles(e)) e.preventDefault(); });
    addEventListener("drop", (e) => {
      if (!hasFiles(e)) return;
      e.preventDefault();
      if (e.dataTransfer.files.length) this.run(e.dataTransfer.files[0]);
    });
  }

  /** @param {File} file */
  async run(file) {
    const turn = (this.turn = {});
    this.worker?.terminate(); // it may be at work on another log
    this.say("Reading " + file.name + " …");
    $("logTable").hidden = true;
    if (file.size > LARGEST) return this.say("The log is too large for a browser: over 512 MB. Use weir replay.");
    try {
      const log = new Uint8Array(await file.arrayBuffer());
      if (turn !== this.turn) return; // a later log takes its place
      const policies = this.app.state.lanes.map((l) => l.text);
      this.show(JSON.parse(await this.ask({ name: file.name, log, policies })));
    } catch (error) {
      if (turn === this.turn) this.say(error.message);
    }
  }

  /** Asks the worker, which is started for the first log. @returns {Promise<string>} the report */
  ask(message) {
    const worker = (this.worker = new Worker("worker.js"));
    return new Promise((ok, fail) => {
      worker.onmessage = ({ data }) => {
        if (data.ready) worker.postMessage(message, [message.log.buffer]);
        else if ("progress" in data) this.say(`Reading ${message.name} … ${data.progress} %`);
        else if (data.error) fail(new Error(data.error));
        else ok(data.report);
      };
      worker.onerror = (e) => fail(new Error("the log could not be replayed: " + e.message));
    });
  }

  say(text) { $("logSays").textContent = text; }

  show(report) {
    const [file] = report.files, count = (n) => n.toLocaleString("en"), many = (n, what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;
    const bad = file.bad ? `, ${count(file.bad)} of them not understood, the first is ${file.first_bad}` : "", junk = file.ignored ? `, ${many(file.ignored, "byte")} after the end of the gzip ignored` : "";
    const error = file.error ? ` The rest of the log cannot be read: ${file.error}.` : "";
    if (!report.requests) return this.say(`${file.name}: no request was found in ${many(file.lines, "line")}${bad}${junk}.${error}`);
    this.say(`${file.name}: ${file.format}, ${many(file.lines, "line")}${bad}${junk}. ${many(report.requests, "request")} of ${many(report.clients, "client")}, ` +
      `by address, in ${seconds((new Date(report.to) - new Date(report.from)) * 1e6)}.${error}`);
    const percent = (n, all) => `${count(n)} (${+((100 * n) / all).toPrecision(3)} %)`;
    $("logRows").replaceChildren(...report.policies.map((p) =>
      element("tr", {}, element("th", { scope: "row", textContent: p.policy }),
        ...[percent(p.refused, report.requests), percent(p.hit, report.clients), count(p.early), seconds(p.longest_shut_out_ns),
          p.worst.length ? `${p.worst[0].key}: ${count(p.worst[0].refused)} of ${count(p.worst[0].requests)}` : "nobody"]
          .map((text) => element("td", { textContent: text })))));
    $("logTable").hidden = false;
  }
}
