// The list of threads at the left: name, tid, what each used and waited in the range of time that
// is shown. A click takes one, a pool or a process; with Ctrl or Shift several.

import {weightsByThread} from "../data/activity.js";
import {threadRows} from "../data/thread_rows.js";
import {h} from "../dom.js";
import {counted, duration} from "../format.js";
import {createRowWindow} from "./row_window.js";

const kRowHeight = 38;
const kFoldedAbove = 30;  // a pool of more threads begins folded

function bar(cpuNs, waitingNs, mostNs) {
  const width = (ns) => `width: ${mostNs > 0 ? (100 * ns / mostNs).toFixed(2) : 0}%`;
  return h("div", {class: "bar", "aria-hidden": "true"},
    h("span", {class: "cpu", style: width(cpuNs)}), h("span", {class: "wait", style: width(waitingNs)}));
}

// Those that are chosen after a click on a row.
function choose(selected, threads, several, all) {
  if (!several || selected === null) return new Set(threads);
  const next = new Set(selected);
  const had = threads.every((thread) => next.has(thread));
  for (const thread of threads) had ? next.delete(thread) : next.add(thread);
  return next.size === 0 || next.size === all ? null : next;
}

/**
 * @param {HTMLElement} element
 * @param {import("../data/profile.js").Profile} profile
 * @param {ReturnType<import("../state.js").createState>} state
 */
export function create(element, profile, state) {
  const everyone = threadRows(profile);
  const folded = new Set(everyone.filter((row) => row.kind === "pool" && row.threads.length > kFoldedAbove)
    .map((row) => row.key));
  let rows = [];
  let drawn = null;  // the selection
  let range = null;  // that `weights` are of
  let weights = null;
  let sums = [];     // of the rows: {cpu, waiting}
  let most = {};     // by kind of row: the longest bar
  let anchor = 0;    // the row of the last click

  const said = h("span", {class: "hint", role: "status"});
  const all = h("button", {type: "button", "data-action": "all-threads", onclick: () => take(null)}, "All");
  const search = h("input", {type: "search", placeholder: "Name or tid", "aria-label": "Find threads",
    oninput: () => list()});
  const scroller = h("div", {class: "thread-list", role: "listbox", "aria-label": "Threads",
    "aria-multiselectable": "true", tabindex: 0});
  element.append(h("div", {class: "thread-head"}, h("h2", {}, "Threads"), said, all), search, scroller);

  const take = (threads) => state.set({selection: {...state.get().selection, threads}});

  function takeRow(index, event) {
    const {threads} = state.get().selection;
    if (event.shiftKey) {
      const between = rows.slice(Math.min(anchor, index), Math.max(anchor, index) + 1);
      return take(new Set(between.flatMap((row) => row.threads)));
    }
    anchor = index;
    window.moveTo(index);
    take(choose(threads, rows[index].threads, event.ctrlKey || event.metaKey, profile.threads.length));
  }

  function fold(row) {
    if (!folded.delete(row.key)) folded.add(row.key);
    list();
  }

  function makeRow(row, index) {
    const {threads} = state.get().selection;
    const {cpu, waiting} = sums[index];
    const twist = row.kind === "thread" ? null : h("button", {type: "button", class: "link twist",
      tabindex: -1, "aria-label": folded.has(row.key) ? "Unfold" : "Fold",
      onclick: (event) => { event.stopPropagation(); fold(row); }}, folded.has(row.key) ? "▸" : "▾");
    return h("div", {class: `thread ${row.kind}`, role: "option", "data-key": row.key, id: `thread-row-${index}`,
      "aria-selected": String(threads === null || row.threads.every((thread) => threads.has(thread))),
      style: `padding-left: ${10 + 14 * row.depth}px`,
      title: `${row.name} (${row.detail}): ${duration(cpu)} of CPU, waited ${duration(waiting)}`,
      onclick: (event) => takeRow(index, event)},
    h("div", {class: "line"}, twist, h("span", {class: "name"}, row.name || "(no name)"),
      h("span", {class: "hint"}, row.detail), h("span", {class: "number"}, duration(cpu))),
    bar(cpu, waiting, most[row.kind]));
  }

  const window = createRowWindow(scroller, kRowHeight, makeRow);

  function list() {
    rows = threadRows(profile, {search: search.value, folded});
    sums = rows.map((row) => ({
      cpu: row.threads.reduce((sum, thread) => sum + weights.cpu[thread], 0),
      waiting: row.threads.reduce((sum, thread) => sum + weights.waiting[thread], 0),
    }));
    most = {process: 0, pool: 0, thread: 0};
    rows.forEach(({kind}, i) => { most[kind] = Math.max(most[kind], sums[i].cpu + sums[i].waiting); });
    window.show(rows);
  }

  scroller.addEventListener("keydown", (event) => {
    const move = {ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10}[event.key];
    if (move !== undefined) window.moveTo(window.current() + move);
    else if (event.key === "Home") window.moveTo(0);
    else if (event.key === "End") window.moveTo(rows.length - 1);
    else if (event.key === "Enter") takeRow(window.current(), event);
    else if (event.key === " ") takeRow(window.current(), {ctrlKey: true});
    else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const row = rows[window.current()];
      if (row && row.kind !== "thread" && folded.has(row.key) === (event.key === "ArrowRight")) fold(row);
    } else return;
    event.preventDefault();
  });

  return {
    redraw() {
      const {selection} = state.get();
      if (selection === drawn) return;
      drawn = selection;
      if (range?.fromNs !== selection.fromNs || range.toNs !== selection.toNs) {
        range = selection;
        weights = weightsByThread(profile, selection);
      }
      const chosen = selection.threads?.size;
      said.textContent = chosen === undefined ? counted(profile.threads.length, "thread")
        : `${chosen} of ${profile.threads.length}`;
      all.disabled = chosen === undefined;
      list();
    },
  };
}
