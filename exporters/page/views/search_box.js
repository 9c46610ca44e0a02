// The field for a regular expression, and what it finds.

import {h} from "../dom.js";
import {counted, percent} from "../format.js";

const kTypingMs = 120;

export function create(element, profile, state, {derived}) {
  const result = h("output", {class: "search-result", for: "search", "aria-live": "polite"});
  let timer = null;
  const input = h("input", {id: "search", type: "search", placeholder: "Search", title: "a regular expression (/)",
    "aria-label": "Search functions with a regular expression", spellcheck: "false", autocomplete: "off",
    oninput() {
      clearTimeout(timer);
      timer = setTimeout(() => state.set({search: input.value}), kTypingMs);
    },
    onkeydown(event) {
      if (event.key !== "Escape") return;
      event.preventDefault();  // neither the search nor the zoom is lost
      input.blur();
    }});
  element.append(input, result);
  return {
    focus() {
      input.focus();
      input.select();
    },
    redraw() {
      const {search} = state.get();
      if (document.activeElement !== input) input.value = search;
      const {functions, markers, error} = derived.found();
      input.setAttribute("aria-invalid", error === "" ? "false" : "true");
      result.classList.toggle("error", error !== "");
      if (functions === null) {
        result.textContent = error;
        return;
      }
      const found = functions.reduce((sum, value) => sum + value, 0);
      const {ns} = derived.foundWeight();
      const said = markers.count === 0 ? "" : ` · ${counted(markers.count, "marker")}`;
      result.textContent = `${percent(ns / (derived.all().ns || 1))} in ${counted(found, "function")}${said}`;
      result.title = "samples with one of them on the stack, each counted once";
    },
  };
}
