// The only store of what is shown. Views read it, change it, and redraw when it changes.
//
// Functions and threads are handles of the profile. A frame is identified by its path: the functions
// from the root of the shown tree to the frame.

import {everything} from "./data/selection.js";

/**
 * @typedef {object} Shown
 * @property {import("./data/selection.js").Selection} selection
 * @property {"flame"|"icicle"|"leftheavy"|"timeorder"|"sunburst"|"sandwich"|"tree"|"table"|"markers"|"workers"|"source"|"locks"} view
 * @property {boolean} inverted
 * @property {number|null} focus the function that the details and the sandwich are about
 * @property {number[]} frame path of the frame that is chosen; empty: none
 * @property {number[]} zoom path of the frame that is as wide as the view; empty: all
 * @property {[number, number]} span the part of its width that is seen
 * @property {[number, number]} seen the time that the tracks show, ns
 * @property {"state"|"module"} trackBy what the tracks are coloured by
 * @property {import("./data/transforms.js").Transform[]} transforms what is done to the stacks
 * @property {boolean} fold chains of frames that call one function each are one box
 * @property {string} search
 * @property {string} marker the row of the markers' tables that is chosen, as markerKey() names it; "": the first
 * @property {"module"|"thread"|"diff"} colorBy
 * @property {"auto"|"light"|"dark"} theme
 * @property {string} sort column of the table; "-" before it: the other way round
 */

/**
 * @param {import("./data/profile.js").Profile} profile
 * @returns {Shown}
 */
export function initially(profile) {
  const compares = profile.meta.diff != null;
  return {
    selection: everything(),
    view: "flame",
    inverted: false,
    focus: null,
    frame: [],
    zoom: [],
    span: [0, 1],
    seen: [0, Infinity],
    trackBy: "state",
    transforms: [],
    fold: true,
    search: "",
    marker: "",
    colorBy: compares ? "diff" : "module",
    theme: "auto",
    sort: compares ? "change" : "self",
  };
}

/** @param {import("./data/profile.js").Profile} profile */
export function createState(profile) {
  let current = initially(profile);
  const subscribers = new Set();
  return {
    /** @returns {Shown} */
    get: () => current,
    /** @param {Partial<Shown>} changes */
    set(changes) {
      const previous = current;
      current = {...current, ...changes};
      for (const subscriber of subscribers) subscriber(current, previous);
    },
    /** @param {(current: Shown, previous: Shown) => void} fn */
    subscribe(fn) {
      subscribers.add(fn);
      return () => subscribers.delete(fn);
    },
  };
}
