// The state of the page as the fragment of its address: for links, and for the browser's Back. It has
// only what differs from the initial state. Fragments are untrusted: what does not fit the profile is
// ignored.

import {markerKey, markerRows} from "./data/marker_tables.js";
import {everything} from "./data/selection.js";
import {recall, remember} from "./prefs.js";
import {initially} from "./state.js";
import {transformsOf, transformText} from "./transforms.js";

const kViews = ["flame", "icicle", "leftheavy", "timeorder", "sunburst", "sandwich", "tree", "table", "markers", "workers", "source", "locks"];
const kChoices = {view: kViews, colorBy: ["module", "thread", "diff"], theme: ["auto", "light", "dark"],
  trackBy: ["state", "module"]};
const kSorts = /^-?(name|self|total|samples|module|file|change)$/;
const kWrittenAfterMs = 120;  // browsers refuse hundreds of changes at once

// {0, 1, 2, 7} as "0-2.7".
function rangesOf(numbers) {
  const ranges = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && last[1] + 1 === number) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([a, b]) => a === b ? `${a}` : `${a}-${b}`).join(".");
}

function numbersOf(ranges, limit) {
  const numbers = new Set();
  for (const range of ranges.split(".")) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(range);
    if (!match) continue;
    const end = Math.min(Number(match[2] ?? match[1]), limit - 1);
    for (let i = Number(match[1]); i <= end; ++i) numbers.add(i);
  }
  return numbers;
}

/**
 * @param {import("./state.js").Shown} shown
 * @param {import("./data/profile.js").Profile} profile
 */
export function fragmentOf(shown, profile) {
  const first = initially(profile);
  const fields = new URLSearchParams();
  const {sampleTypes} = profile.meta;  // of which one it is says sample_types.js
  if (sampleTypes && sampleTypes.shown !== sampleTypes.first) fields.set("samples", sampleTypes.shown);
  for (const key of ["view", "colorBy", "theme", "trackBy", "sort", "search", "marker"]) {
    if (shown[key] !== first[key]) fields.set(key, shown[key]);
  }
  const {threads, fromNs, toNs, state} = shown.selection;
  if (threads) fields.set("threads", rangesOf(threads));
  if (fromNs > 0) fields.set("from", fromNs);
  if (toNs < Infinity) fields.set("to", toNs);
  if (state !== first.selection.state) fields.set("state", state);
  if (shown.transforms.length) fields.set("do", transformText(shown.transforms));
  if (!shown.fold) fields.set("fold", "0");
  if (shown.inverted) fields.set("inverted", "1");
  if (shown.focus !== null) fields.set("focus", shown.focus);
  if (shown.frame.length) fields.set("frame", shown.frame.join("."));
  if (shown.zoom.length) fields.set("zoom", shown.zoom.join("."));
  if (shown.span[0] > 0 || shown.span[1] < 1) fields.set("span", shown.span.join("_"));
  if (shown.seen[0] > 0 || shown.seen[1] < Infinity) fields.set("seen", shown.seen.map((ns) => ns < Infinity ? Math.round(ns) : "").join("_"));
  return fields.toString();
}

/**
 * @param {string} fragment without "#"
 * @param {import("./data/profile.js").Profile} profile
 * @returns {import("./state.js").Shown}
 */
export function shownBy(fragment, profile) {
  const fields = new URLSearchParams(fragment);
  const shown = initially(profile);
  for (const [key, allowed] of Object.entries(kChoices)) {
    if (allowed.includes(fields.get(key))) shown[key] = fields.get(key);
  }
  if (shown.colorBy === "diff" && !profile.meta.diff) shown.colorBy = "module";
  if (kSorts.test(fields.get("sort") ?? "")) shown.sort = fields.get("sort");
  shown.search = fields.get("search") ?? "";
  const marker = fields.get("marker") ?? "";
  if (marker !== "" && markerRows(profile, everything()).some((row) => markerKey(row) === marker)) shown.marker = marker;
  shown.transforms = transformsOf(fields.get("do") ?? "", profile);
  shown.fold = fields.get("fold") !== "0";
  shown.inverted = fields.get("inverted") === "1";

  const number = (key, otherwise) => {
    const value = Number.parseFloat(fields.get(key) ?? "");
    return value >= 0 ? value : otherwise;
  };
  const {selection} = shown;
  if (fields.has("threads")) {
    const threads = numbersOf(fields.get("threads"), profile.threads.length);
    if (threads.size) selection.threads = threads;
  }
  selection.fromNs = number("from", 0);
  selection.toNs = number("to", Infinity);
  if (["cpu", "waiting", "all"].includes(fields.get("state"))) selection.state = fields.get("state");

  const isFunction = (func) => Number.isInteger(func) && func >= -1 && func < profile.functions.count;
  const path = (key) => {
    const functions = (fields.get(key) ?? "").split(".").map((text) => text === "" ? NaN : Number(text));
    return functions.every(isFunction) ? functions : [];
  };
  shown.frame = path("frame");
  shown.zoom = path("zoom");
  const focus = number("focus", null);
  if (focus !== null && isFunction(focus)) shown.focus = focus;
  const [from, to] = (fields.get("span") ?? "").split("_").map(Number);
  if (from >= 0 && to <= 1 && from < to) shown.span = [from, to];
  const [begin, end] = (fields.get("seen") ?? "_").split("_").map((text) => text === "" ? null : Number(text));
  if ((begin ?? 0) >= 0 && (end ?? Infinity) > (begin ?? 0)) shown.seen = [begin ?? 0, end ?? Infinity];
  return shown;
}

// Back undoes a step; other changes belong to the step before them.
function isStep(current, previous) {
  return ["view", "inverted", "zoom", "focus", "transforms", "marker"].some((key) => current[key] !== previous[key]);
}

// What a person chose before; an address says itself what is shown.
const kLiked = {view: kViews, theme: kChoices.theme, fold: ["true", "false"]};

function liked() {
  const found = Object.entries(kLiked).map(([key, allowed]) => [key, recall(key)]).filter(([key, value]) => kLiked[key].includes(value));
  return Object.fromEntries(found.map(([key, value]) => [key, key === "fold" ? value === "true" : value]));
}

/**
 * Keeps the address up to date, and the state when the address is changed, until `signal`. No address can bring back a
 * comparison with a dropped file: it stays that of the profile alone, and what is shown is kept in the history.
 * @param {number|null} comparison its number; null: the profile alone
 */
export function followAddress(state, profile, {location, history, addEventListener} = window, {signal, comparison = null} = {}) {
  let timer = null;  // while a write is pending
  let step = false;
  let reading = false;
  const kept = () => comparison === null ? location.hash.slice(1) : history.state.shown;
  const place = () => history.state?.place ?? 0;
  const entry = (at, fragment) => comparison === null ? [{place: at}, "", `#${fragment}`] :
    [{...history.state, place: at, shown: fragment}, ""];
  const write = (shown = state.get()) => {
    if (timer === null) return;
    clearTimeout(timer);
    timer = null;
    const fragment = fragmentOf(shown, profile);
    if (fragment !== kept()) {
      if (step) history.pushState(...entry(place() + 1, fragment));
      else history.replaceState(...entry(place(), fragment));
    }
    step = false;
  };
  const read = () => {
    clearTimeout(timer);
    timer = null;
    step = false;
    reading = true;
    state.set(shownBy(kept(), profile));
    reading = false;
  };
  read();
  state.subscribe((current, previous) => {
    if (reading) return;
    for (const key of Object.keys(kLiked)) {
      if (current[key] !== previous[key]) remember(key, current[key]);
    }
    if (isStep(current, previous)) {
      write(previous);  // belongs to the step before
      step = true;
    }
    clearTimeout(timer);
    timer = setTimeout(write, kWrittenAfterMs);
  });
  if (comparison === null && location.hash.length < 2) state.set(liked());
  step = false;
  addEventListener("popstate", read, {signal});
  signal?.addEventListener("abort", () => clearTimeout(timer));
  return {
    /** The link to what is shown now; null where there is none. */
    link() {
      write();
      return comparison === null ? location.href : null;
    },
    /** A step to other samples, of which `fragment` shows something. */
    leave(fragment) {
      write();
      history.pushState({place: place() + 1}, "", `#${fragment}`);
    },
    /** A step to a comparison, which shows `fragment` at first. */
    compare(number, fragment) {
      write();
      history.pushState({place: place() + 1, comparison: number, shown: fragment, alone: comparison === null ? place() : history.state.alone}, "");
    },
    /** Back to before the comparison. */
    endComparison() {
      clearTimeout(timer);
      timer = null;
      history.go(history.state.alone - place());
    },
    /** False when there is nothing to go back to in this page. */
    back() {
      write();
      if (place() === 0) return false;
      history.back();
      return true;
    },
  };
}
