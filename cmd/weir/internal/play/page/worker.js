// Runs the program that replays logs, beside the page.

importScripts("wasm_exec.js");

const go = new Go();
WebAssembly.instantiateStreaming(fetch("log.wasm"), go.importObject).then(
  ({ instance }) => go.run(instance),
  (error) => postMessage({ error: "the program for logs could not be loaded: " + error }),
);
