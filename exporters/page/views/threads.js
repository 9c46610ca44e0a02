// The names of the rows at the left of the tracks: threads with the CPU that each used in the range of
// time that is shown, or how long each waited for locks. A click takes a thread, a pool or a process; with Ctrl or Shift several.

import {weightsByThread} from "../data/activity.js";
import {hasLocks} from "../data/locks.js";
import {idleThreads} from "../data/transforms.js";
import {h} from "../dom.js";
import {counted, duration, weight, weightUnit} from "../format.js";
import {rowIndexAt} from "./timeline_rows.js";

const kFoldedAbove = 8;  // a pool of more threads begins folded

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
 * @param {object} pane
 * @param {ReturnType<import("./timeline_rows.js").createRows>} pane.rows
 * @param {HTMLElement} pane.scroller of the rows
 * @param {number} pane.head pixels above the first row
 * @param {HTMLElement} pane.tool beside "All"
 * @param {(placed: {rows: object[], height: number}) => void} pane.onRows when there are others
 */
export function createThreadList(element, profile, state, {rows: allRows, scroller, head, tool, onRows}) {
  const everyone = allRows.of({}).rows;
  const compares = profile.threads.some(({side}) => side === 1);
  const folded = new Set(everyone.filter((row) => row.kind === "pool" && (compares || row.threads.length > kFoldedAbove))
    .map((row) => row.key));
  const names = new Map();
  for (const {name} of everyone) names.set(name, (names.get(name) ?? 0) + 1);
  let rows = [];
  let drawn = null;  // the selection
  let range = null;  // that `weights` are of
  let weights = null;
  let idle = null;   // by thread
  let hidesIdle = false;
  let anchor = 0;    // the row of the last click
  let current = 0;   // for the keyboard

  const all = h("button", {type: "button", "data-action": "all-threads", onclick: () => take(null)}, "All");
  const search = h("input", {type: "search", placeholder: `Find in ${counted(profile.threads.length, "thread")}`,
    "aria-label": "Find threads and tracks", oninput: () => list()});
  const floor = h("div", {class: "thread-floor", role: "presentation"});
  const list_ = h("div", {class: "thread-list", role: "listbox", "aria-label": "Threads and tracks",
    "aria-multiselectable": "true", tabindex: 0}, floor);
  element.append(h("div", {class: "thread-head", style: `height: ${head}px`},
    h("div", {class: "line"}, tool, all), search), list_);

  const take = (threads) => state.set({selection: {...state.get().selection, threads}});

  function takeRow(index, event) {
    const row = rows[index];
    if (!row || row.threads.length === 0) return;
    const {threads} = state.get().selection;
    moveTo(index);
    if (event.shiftKey) {
      const between = rows.slice(Math.min(anchor, index), Math.max(anchor, index) + 1);
      return take(new Set(between.flatMap((each) => each.threads)));
    }
    anchor = index;
    take(choose(threads, row.threads, event.ctrlKey || event.metaKey, profile.threads.length));
  }

  function fold(row) {
    if (!folded.delete(row.key)) folded.add(row.key);
    list();
  }

  const isTime = weightUnit() === "s";
  const waits = hasLocks(profile);
  const shown = () => waits ? weights.waiting : weights.cpu;

  // "1.20 s → 1.50 s", from A to B.
  const bySide = (row) => [0, 1].map((side) => weight(row.threads.reduce((sum, thread) =>
    sum + (profile.threads[thread].side === side ? shown()[thread] : 0), 0))).join(" → ");

  function described(cpu, waiting) {
    if (waits) return `waited ${duration(waiting)} for locks`;
    return isTime ? `${duration(cpu)} of CPU, waited ${duration(waiting)}` : weight(cpu);
  }

  function makeRow(row, index) {
    const {threads} = state.get().selection;
    const sum = (column) => row.threads.reduce((total, thread) => total + column[thread], 0);
    const [cpu, waiting] = [sum(weights.cpu), sum(weights.waiting)];
    const isTrack = row.threads.length === 0;
    const twist = row.kind !== "process" && row.kind !== "pool" ? null : h("span", {class: "twist", "aria-hidden": "true",
      onclick: (event) => { event.stopPropagation(); fold(row); }}, folded.has(row.key) ? "▸" : "▾");
    const element = h("div", {class: `thread ${row.kind}${names.get(row.name) > 1 ? " alike" : ""}`,
      role: "option", "data-key": row.key, id: `thread-row-${index}`, "aria-setsize": rows.length, "aria-posinset": index + 1,
      "aria-selected": String(!isTrack && (threads === null || row.threads.every((thread) => threads.has(thread)))),
      style: `top: ${row.top}px; height: ${row.height}px; padding-left: ${8 + 12 * row.depth}px`,
      title: isTrack ? row.label : `${row.name} (${row.detail}): ${described(cpu, waiting)}`,
      onclick: (event) => takeRow(index, event)},
    h("div", {class: "line"}, twist, h("span", {class: "name"}, row.name || "(no name)"),
      isTrack ? null : h("span", {class: "number"}, compares && row.kind === "pool" ? bySide(row) : weight(waits ? waiting : cpu)), isTrack ? null : h("span", {class: "hint"}, row.detail)));
    if (index === current) {
      element.classList.add("current");
      list_.setAttribute("aria-activedescendant", element.id);
    }
    return element;
  }

  function draw() {
    if (weights === null) return;
    const top = scroller.scrollTop;
    const elements = [];
    for (let i = rowIndexAt(rows, top); i < rows.length && rows[i].top < top + scroller.clientHeight; ++i) {
      elements.push(makeRow(rows[i], i));
    }
    floor.style.transform = `translateY(${-top}px)`;
    floor.replaceChildren(...elements);
  }

  function moveTo(index) {
    current = Math.max(0, Math.min(index, rows.length - 1));
    const {top, height} = rows[current] ?? {top: 0, height: 0};
    const room = scroller.clientHeight - head;
    if (top + height > scroller.scrollTop + room) scroller.scrollTop = top + height - room;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    draw();
  }

  function list() {
    if (hidesIdle) idle ??= idleThreads(profile);
    const placed = allRows.of({search: search.value, folded, without: hidesIdle ? idle : null});
    rows = placed.rows;
    current = Math.max(0, Math.min(current, rows.length - 1));
    onRows(placed);
    draw();
  }

  list_.addEventListener("keydown", (event) => {
    const move = {ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10}[event.key];
    if (move !== undefined) moveTo(current + move);
    else if (event.key === "Home") moveTo(0);
    else if (event.key === "End") moveTo(rows.length - 1);
    else if (event.key === "Enter") takeRow(current, event);
    else if (event.key === " ") takeRow(current, {ctrlKey: true});
    else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const row = rows[current];
      if (row && ["process", "pool"].includes(row.kind) && folded.has(row.key) === (event.key === "ArrowRight")) fold(row);
    } else return;
    event.preventDefault();
  });

  return {
    draw,
    takeRow,
    redraw() {
      const {selection, transforms} = state.get();
      const hides = transforms.some(({kind}) => kind === "idle");
      if (selection === drawn && hides === hidesIdle) return;
      const isOther = drawn === null || hides !== hidesIdle;
      hidesIdle = hides;
      drawn = selection;
      if (range?.fromNs !== selection.fromNs || range.toNs !== selection.toNs) {
        range = selection;
        weights = weightsByThread(profile, selection);
      }
      const chosen = selection.threads?.size;
      all.textContent = chosen === undefined ? "All" : `${chosen} of ${profile.threads.length}`;
      all.title = "all threads";
      all.setAttribute("aria-label", chosen === undefined ? "All threads" : `All threads; ${all.textContent} are chosen`);
      all.disabled = chosen === undefined;
      if (isOther) list();
      else draw();
    },
  };
}
