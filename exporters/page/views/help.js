// Keys and mouse, in a dialog.

import {h} from "../dom.js";

const kKeys = [
  ["1 … 9", "the views, from flame graph to markers"],
  ["/", "search; a regular expression, capitals count when there are some; Esc leaves it"],
  ["i", "inverted: from where the time was spent, up to the callers"],
  ["click", "choose a frame, and zoom to it; in time order and sandwich, a double click zooms or follows"],
  ["Ctrl + wheel", "zoom at the pointer; the wheel alone where nothing scrolls"],
  ["drag, Shift + wheel", "move sideways"],
  ["in the tracks", "drag chooses a time, a click on a span its time and thread, a double click all; wheel and + − a d zoom and move"],
  ["right click, menu key", "on a frame, or the chosen one: what can be done with it"],
  ["f  m  x", "of the chosen function: only what it calls, merge it into its callers, drop its samples"],
  ["z", "fold chains of frames that call one function each, or unfold them"],
  ["in the tree", "→ ← unfold and fold, * all below, y copies the rows as text"],
  ["drop a file", "another profile.html: compares this one (A) with it (B)"],
  ["← → ↑ ↓", "from frame to frame; Enter zooms to the one that is chosen"],
  ["+ −  or  w s", "zoom; a and d move sideways"],
  ["Backspace", "back to what was shown before"],
  ["0 or Esc", "all of it: no zoom. Reset also forgets threads, time and search"],
  ["c", "copy the stack that is chosen"],
  ["l", "copy a link to what is shown"],
  ["t", "light, dark, or as the system says"],
  ["?", "this help"],
];
const kMeanings = [
  ["self", "samples that were taken in the function"],
  ["total", "samples with the function anywhere on the stack, each counted once"],
  ["±", "half of the 95 % confidence interval, from the number of samples"],
  ["hatched, pale", "its share could be chance: the interval reaches half of it, fewer than 16 samples"],
  ["A, B", "of a comparison: a change is red or blue when, with 99 % confidence, none of those is chance"],
  ["grey", "waits, and frames narrower than a pixel, drawn together"],
];

export function createHelp() {
  const list = (rows) => h("dl", {}, ...rows.flatMap(([key, text]) => [h("dt", {}, key), h("dd", {}, text)]));
  const dialog = h("dialog", {id: "help", "aria-labelledby": "help-title"},
    h("form", {method: "dialog"}, h("h2", {id: "help-title"}, "Keys and mouse"),
      h("button", {class: "close", "aria-label": "Close"}, "Close")),
    list(kKeys), h("h3", {}, "What the figures mean"), list(kMeanings));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  return {toggle: () => dialog.open ? dialog.close() : dialog.showModal(), isOpen: () => dialog.open};
}
