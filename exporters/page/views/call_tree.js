// The call tree as rows that unfold: total, self, when, and the function. Inverted, its rows lead from
// where the time was spent up to the callers.

import {copyText} from "../clipboard.js";
import {overTime} from "../data/over_time.js";
import {theme} from "../data/color.js";
import {treeLayout} from "../data/tree_layout.js";
import {beforeNextFrame, h, svg} from "../dom.js";
import {counted, percent, weight} from "../format.js";
import {placeOfRow} from "./function_table.js";
import {isDark} from "./painter.js";

const kRowPixels = 24;
const kBeyond = 4;           // rows above and below what is seen
const kSlices = 60;          // of a sparkline
const kSparkHeight = 16;
const kMostOpened = 4000;    // rows that "unfold all below" makes
const kLeastShare = 0.001;   // of all: smaller ones "unfold all below" leaves folded
const kMostChildren = 200;   // that are listed; the rest is one row

/** @param {HTMLElement} element */
export function create(element, profile, state, {derived, names, painter, say, status, menu}) {
  const body = h("tbody");
  const heads = ["Total", "Total %", "Self", "Over time", "Function", "Library", "File:line"];
  const table = h("table", {class: "functions call-tree", role: "treegrid", "aria-label": "call tree"},
    h("thead", {}, h("tr", {}, ...heads.map((text, i) => h("th", {scope: "col", class: i < 3 ? "number" : ""}, text)))), body);
  const scroller = h("div", {class: "table-scroller", tabindex: 0, "aria-label": "call tree", role: "group"}, table);
  element.append(scroller);
  const opened = new Map();  // by tree: nodes whose children are rows
  let tree = null;
  let current = null;
  let rows = [];             // {node, depth, rest}
  let chosen = -1;
  let sparks = new Map();

  const openedOf = () => opened.get(tree) ?? opened.set(tree, new Set([0])).get(tree);
  const pathOf = (node) => treeLayout(tree, null).pathOf(node);

  function list() {
    const isOpen = openedOf();
    rows = [];
    const pending = [[0, 0]];
    while (pending.length !== 0) {
      const [node, depth, rest] = pending.pop();
      rows.push({node, depth, rest: rest ?? 0});
      if (rest || !isOpen.has(node)) continue;
      const children = tree.children(node);
      if (children.length > kMostChildren) pending.push([node, depth + 1, children.length - kMostChildren]);
      for (const child of children.slice(0, kMostChildren).reverse()) pending.push([child, depth + 1]);
    }
    status.show(`${counted(rows.length, "row")}; * unfolds all below a row`);
    const {selection, inverted} = state.get();
    sparks = overTime(current, selection, tree, rows.filter((row) => row.node !== 0 && !row.rest).map((row) => row.node),
      {inverted, slices: kSlices});
  }

  // Follows what has only one child, so that one step leads to the next branch.
  function open(node, isDeep) {
    const isOpen = openedOf();
    const pending = [node];
    let made = 0;
    while (pending.length !== 0 && made < kMostOpened) {
      const at = pending.pop();
      isOpen.add(at);
      const children = tree.children(at);
      made += children.length;
      if (children.length === 1) pending.push(children[0]);
      else if (isDeep) pending.push(...children.filter((child) => tree.total[child] > kLeastShare * tree.total[0]));
    }
  }
  function toggle(node, isDeep = false) {
    if (openedOf().has(node) && !isDeep) openedOf().delete(node);
    else open(node, isDeep);
    list();
    draw();
  }

  function spark(node) {
    const values = sparks.get(node);
    const all = sparks.get(0);
    const most = all.reduce((a, b) => Math.max(a, b), 0) || 1;
    const path = [...values].map((value, i) => value === 0 ? "" :
      `M${i} ${kSparkHeight}V${(kSparkHeight * (1 - value / most)).toFixed(1)}h1V${kSparkHeight}z`).join("");
    return svg("svg", {viewBox: `0 0 ${kSlices} ${kSparkHeight}`, class: "spark", preserveAspectRatio: "none", "aria-hidden": "true"},
      svg("path", {d: path}));
  }

  function makeRow({node, depth, rest}, index) {
    const all = derived.all().ns || 1;
    if (rest) return h("tr", {"aria-level": depth + 1}, h("td", {colspan: 4}), h("td", {colspan: 3, style: `padding-left:${depth * 14 + 22}px`},
      `and ${counted(rest, "smaller one")}`));
    const func = tree.func[node];
    const children = tree.children(node);
    const siblings = node === 0 ? [node] : tree.children(tree.parent[node]);
    const isOpen = openedOf().has(node);
    return h("tr", {id: `tree-row-${index}`, role: "row", "data-node": node, "aria-level": depth + 1, "aria-rowindex": index + 2,
      "aria-setsize": siblings.length, "aria-posinset": siblings.indexOf(node) + 1,
      "aria-selected": String(node === chosen), "aria-expanded": children.length ? String(isOpen) : null},
    h("td", {class: "number"}, weight(tree.total[node])),
    h("td", {class: "number"}, percent(tree.total[node] / all)),
    h("td", {class: "number"}, tree.self[node] > 0 ? weight(tree.self[node]) : ""),
    h("td", {}, spark(node)),
    h("td", {class: "wide tree-cell", style: `padding-left:${depth * 14 + 6}px`, title: names.of(func)},
      h("span", {class: "twist", "aria-hidden": "true"}, children.length === 0 ? "" : isOpen ? "▾" : "▸"),
      h("i", {class: "swatch", style: `background:${painter.ofFunctions()(func).fill}`}), h("span", {}, names.of(func))),
    h("td", {title: names.modulePath(func)}, names.module(func)),
    h("td", {title: names.place(func, {whole: true})}, names.place(func)));
  }

  function draw() {
    const first = Math.max(0, Math.floor(scroller.scrollTop / kRowPixels) - kBeyond);
    const end = Math.min(rows.length, first + Math.ceil(scroller.clientHeight / kRowPixels) + 2 * kBeyond);
    const space = (count) => h("tr", {"aria-hidden": "true"}, h("td", {colspan: heads.length, style: `height:${count * kRowPixels}px`}));
    body.replaceChildren(space(first), ...rows.slice(first, end).map((row, i) => makeRow(row, first + i)), space(rows.length - end));
    table.setAttribute("aria-rowcount", rows.length + 1);
    table.style.setProperty("--spark", theme(isDark(state.get())).merged);
    const at = rows.findIndex((row) => row.node === chosen && !row.rest);
    if (at >= first && at < end) scroller.setAttribute("aria-activedescendant", `tree-row-${at}`);
    else scroller.removeAttribute("aria-activedescendant");
  }

  function choose(node) {
    chosen = node;
    const func = tree.func[node];
    state.set({frame: pathOf(node), focus: func < 0 ? null : func});
    draw();
  }

  /** The rows as text: total, self and function, a line each, as deep as the tree. */
  function asText() {
    return ["     total       %        self  function", ...rows.map(({node, depth, rest}) => rest ?
      `${" ".repeat(30 + 2 * depth)}and ${counted(rest, "smaller one")}` :
      [weight(tree.total[node]).padStart(10), percent(tree.total[node] / (derived.all().ns || 1)).padStart(7),
        (tree.self[node] > 0 ? weight(tree.self[node]) : "").padStart(10), " ".repeat(2 * depth) + names.of(tree.func[node])].join("  "))].join("\n");
  }
  async function copy() {
    say(await copyText(asText()) ? `copied ${counted(rows.length, "row")}` : "could not copy the rows");
  }
  table.querySelector("th:nth-child(5)").append(h("button", {class: "copy-tree", "data-action": "copy-tree", title: "the rows that are unfolded (y)", onclick: copy}, "Copy as text"));

  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-node]");
    if (!row) return;
    const node = Number(row.dataset.node);
    if (event.target.closest(".twist") || node === chosen) toggle(node, event.altKey);
    choose(node);
    scroller.focus({preventScroll: true});
  });
  scroller.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== scroller) return;
    const at = rows.findIndex((row) => row.node === chosen && !row.rest);
    const step = {ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity}[event.key];
    const node = rows[at]?.node;
    if (step !== undefined) {
      const next = Math.max(0, Math.min(rows.length - 1, at + step));
      reveal(next);
      if (!rows[next].rest) choose(rows[next].node);
    } else if (event.key === "y") copy();
    else if (node === undefined) return;
    else if (event.key === "ArrowRight" && !openedOf().has(node)) toggle(node);
    else if (event.key === "ArrowRight" && rows[at + 1]?.depth > rows[at].depth) choose(rows[at + 1].node);
    else if (event.key === "ArrowLeft" && openedOf().has(node) && tree.children(node).length) toggle(node);
    else if (event.key === "ArrowLeft") choose(Math.max(0, tree.parent[node]));
    else if (event.key === "*") toggle(node, true);
    else if (event.key === "Enter" || event.key === " ") toggle(node);
    else return;
    event.preventDefault();
  });
  const frameOf = (node) => ({func: tree.func[node], path: pathOf(node)});
  menu.listenOn(scroller, (event) => {
    const row = event.target.closest("tr[data-node]");
    return row && frameOf(Number(row.dataset.node));
  }, () => chosen >= 0 && {...frameOf(chosen), ...placeOfRow(scroller, "tr[data-node][aria-selected=true]")});
  function reveal(index) {
    const y = index * kRowPixels;
    const room = scroller.clientHeight - 2 * kRowPixels;
    if (y < scroller.scrollTop) scroller.scrollTop = y;
    else if (y > scroller.scrollTop + room) scroller.scrollTop = y - room;
  }
  const redraw = beforeNextFrame(draw);
  scroller.addEventListener("scroll", redraw);
  new ResizeObserver(redraw).observe(scroller);

  return {
    redraw() {
      const shown = state.get();
      const next = derived.tree(shown.inverted);
      if (next !== tree || current !== derived.profile()) {
        tree = next;
        current = derived.profile();
        if (!opened.has(tree)) open(0, false);
      }
      // A frame that was chosen elsewhere is a row here.
      const layout = treeLayout(tree, null);
      const node = layout.nodeAt(shown.frame);
      chosen = shown.frame.length === 0 ? chosen === 0 ? 0 : -1 : node;
      for (let at = tree.parent[node]; at >= 0; at = tree.parent[at]) openedOf().add(at);
      list();
      draw();
      const at = rows.findIndex((row) => row.node === chosen && !row.rest);
      if (at >= 0) reveal(at);
    },
  };
}
