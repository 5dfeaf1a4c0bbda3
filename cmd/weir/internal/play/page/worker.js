// Runs the program that replays logs, beside the page.

importScripts("wasm_exec.js");

const go = new Go();
fetch("log.wasm").then((r) => r.arrayBuffer()).then((b) => WebAssembly.instantiate(b, go.importObject)).then(
  ({ instance }) => go.run(instance),
  (error) => postMessage({ error: "the program for logs could not be loaded: " + error }),
);
