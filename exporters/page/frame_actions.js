// What can be done with a function, or a frame of it: the buttons of the details, the menu on frames and the page's keys.

import {copyText} from "./clipboard.js";
import {sourceOf} from "./data/sources.js";
import {addTransform, switchTransform} from "./transforms.js";

/**
 * The frame's stack as text, root first: a line per function, with its place.
 * @param {number[]} path
 */
function stackText(path, names) {
  return path.map((func) => {
    const place = names.place(func, {whole: true});
    const module = names.module(func);
    return `${names.of(func)}${place ? `  ${place}` : ""}${module ? `  [${module}]` : ""}`;
  }).join("\n");
}

/**
 * @typedef {object} Action
 * @property {string} id
 * @property {string} text
 * @property {string} [key] that does it with the chosen frame
 * @property {() => void} run
 */

/**
 * @param {import("./data/profile.js").Profile} profile
 * @param {ReturnType<import("./state.js").createState>} state
 */
export function createFrameActions(profile, state, {names, say, sources}) {
  const copy = async (text, what) => say(await copyText(text) ? `copied ${what}` : `could not copy ${what}`);

  /**
   * @param {number} func
   * @param {number[]} path of the frame, as state.frame is; empty: only the function is known
   * @returns {Action[]}
   */
  function of(func, path) {
    const {inverted, view, transforms} = state.get();
    // From the root, also where the tree was inverted.
    const stack = path.length === 0 ? [func] : inverted && view !== "timeorder" ? path.toReversed() : path;
    const name = names.of(func);
    const quoted = name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
    const transform = (kind, text, key) => ({id: kind, text, key, run: () => addTransform(state, {kind, of: func})});
    const module = profile.functions.python[func] ? -1 : profile.functions.module[func];
    return [
      {id: "copy-stack", text: "Copy stack", key: "c", run: () => copy(stackText(stack, names), "the stack")},
      {id: "copy-name", text: "Copy name", run: () => copy(name, "the name")},
      {id: "sandwich", text: "Callers and callees", run: () => state.set({view: "sandwich", focus: func})},
      ...(sources === null || !sourceOf(sources, profile, func) ? [] :
        [{id: "source", text: "Source", run: () => state.set({view: "source", focus: func})}]),
      {id: "search-name", text: "Highlight", run: () => state.set({search: `^${quoted}$`})},
      transform("focus", "Only callees", "f"), transform("callers", "Only callers"), transform("merge", "Merge", "m"), transform("drop", "Drop", "x"),
      ...(module < 0 ? [] : [{id: "library", text: `Merge ${names.module(func)}`,
        run: () => addTransform(state, {kind: "library", of: module})}]),
      ...(transforms.some(({kind}) => kind === "recursion") ? [] :
        [{id: "recursion", text: "Collapse recursion", run: () => switchTransform(state, "recursion")}]),
    ];
  }

  return {
    of,
    /** Does with the chosen frame what has this key. */
    run(key) {
      const {focus, frame} = state.get();
      if (focus === null || focus < 0) say("choose a function first");
      else of(focus, frame.at(-1) === focus ? frame : []).find((action) => action.key === key)?.run();
    },
  };
}
