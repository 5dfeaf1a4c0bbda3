// Runs the program that replays logs, beside the page.

importScripts("wasm_exec.js");

const go = new Go();
fetch("log.wasm").then((r) => r.arrayBuffer()).then((b) => WebAssembly.instantiate(b, go.importObject)).then(
  // It ends only if it cannot go on, as without memory.
  ({ instance }) => go.run(instance).then(() => postMessage({ error: "the program for logs has stopped. Use weir replay for large logs." })),
  (error) => postMessage({ error: "the program for logs could not be loaded: " + error }),
);
