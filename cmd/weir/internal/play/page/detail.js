// One answer: all of it, in words.

import { element } from "./lane.js";

const $ = (id) => document.getElementById(id);

export class DetailView {
  constructor() {
    this.lane = null; // that has the answer
    $("closeDetail").onclick = () => this.close();
  }

  /** @param {import("./lane.js").LaneView} lane */
  show(lane, answer) {
    $("what").textContent = `Policy ${lane.index + 1}. ${answer.what}`;
    $("fields").replaceChildren(...answer.fields.map(([name, value, words]) =>
      element("tr", {}, element("th", { scope: "row", textContent: name }),
        element("td", { className: "value" }, value, element("span", { className: "meaning", textContent: words })))));
    $("headers").textContent = answer.headers;
    $("headers").hidden = !answer.headers;
    $("detail").classList.add("open");
    lane.announce(answer.what);
    this.lane = lane;
  }

  /** On a small screen, the answer lies over the lanes. */
  close() {
    const focused = $("detail").contains(document.activeElement);
    $("detail").classList.remove("open");
    if (focused && !document.activeElement.checkVisibility()) this.lane?.canvas.focus();
  }

  /** Forgets an answer that is of another scenario. */
  clear() {
    $("what").textContent = "Point at a request, or choose a lane and press the arrow keys.";
    $("fields").replaceChildren();
    $("headers").hidden = true;
    $("detail").classList.remove("open");
  }
}
