// The one store of what is shown. Views read it, change it, and redraw when it has changed.

import {everything} from "./data/selection.js";

export function createState(initial = {}) {
  let current = {
    selection: everything(),
    view: "flame",
    inverted: false,
    focus: null,
    search: "",
    colorBy: "module",
    theme: "auto",
    sort: "self",
    ...initial,
  };
  const subscribers = new Set();
  return {
    get: () => current,
    set(changes) {
      current = {...current, ...changes};
      for (const subscriber of subscribers) subscriber(current);
    },
    subscribe(fn) {
      subscribers.add(fn);
      return () => subscribers.delete(fn);
    },
  };
}
