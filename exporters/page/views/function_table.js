// A table of functions that may be long: only the rows that are seen are in the document.

import {beforeNextFrame, h} from "../dom.js";
import {counted} from "../format.js";

const kRowPixels = 24;
const kBeyond = 6;  // rows above and below what is seen

let tables = 0;

/**
 * @typedef {object} Column
 * @property {string} sort what state.sort calls it; "" cannot be sorted by
 * @property {string} title
 * @property {string} [hint]
 * @property {boolean} [number] aligned right
 * @property {boolean} [wide] it has the room that the others leave
 * @property {(row: import("../data/rows.js").Row) => Node|string} cell
 */

/**
 * @param {HTMLElement} parent
 * @param {Column[]} columns
 * @param {{label: string, menu: object, onSort: (column: string) => void, onChoose: (func: number) => void,
 *          onOpen: (func: number) => void}} handlers
 */
export function createFunctionTable(parent, columns, {label, menu, onSort, onChoose, onOpen}) {
  const id = `table${++tables}`;
  const headings = columns.map(({sort, title, hint, number}) => h("th", {scope: "col", class: number ? "number" : "",
    title: hint}, sort === "" ? title : h("button", {class: "sorter", onclick: () => onSort(sort)}, title)));
  const above = h("tr", {"aria-hidden": "true"}, h("td", {colspan: columns.length}));
  const below = h("tr", {"aria-hidden": "true"}, h("td", {colspan: columns.length}));
  const body = h("tbody");
  const table = h("table", {class: "functions", role: "grid", "aria-label": label},
    h("thead", {}, h("tr", {}, ...headings)), body);
  const scroller = h("div", {class: "table-scroller", tabindex: 0, role: "group", "aria-label": label}, table);
  parent.append(scroller);
  let rows = [];
  let chosen = null;
  let followed = null;  // it was chosen by keys

  function draw() {
    const first = Math.max(0, Math.floor(scroller.scrollTop / kRowPixels) - kBeyond);
    const end = Math.min(rows.length, first + Math.ceil(scroller.clientHeight / kRowPixels) + 2 * kBeyond);
    above.firstChild.style.height = `${first * kRowPixels}px`;
    below.firstChild.style.height = `${(rows.length - end) * kRowPixels}px`;
    body.replaceChildren(above, ...rows.slice(first, end).map((row, i) => h("tr", {
      id: `${id}-${row.func}`, "aria-rowindex": first + i + 2, "data-func": row.func,
      class: row.noise ? "noise" : "", "aria-selected": row.func === chosen ? "true" : "false"},
      ...columns.map(({cell, number, wide}) => h("td", {class: number ? "number" : wide ? "wide" : ""}, cell(row))))), below);
    if (chosen === null) scroller.removeAttribute("aria-activedescendant");
    else scroller.setAttribute("aria-activedescendant", `${id}-${chosen}`);
  }

  const rowOf = (event) => event.target.closest("tr[data-func]");
  body.addEventListener("click", (event) => {
    const row = rowOf(event);
    if (row) onChoose(Number(row.dataset.func));
  });
  body.addEventListener("dblclick", (event) => {
    const row = rowOf(event);
    if (row) onOpen(Number(row.dataset.func));
  });
  menu.listenOn(scroller, (event) => {
    const row = rowOf(event);
    return row && {func: Number(row.dataset.func), path: []};
  }, () => chosen !== null && {func: chosen, path: [], ...placeOfRow(scroller, "tr[data-func][aria-selected=true]")});
  scroller.addEventListener("keydown", (event) => {
    const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity};
    if (event.key === "Enter" && chosen !== null && event.target === scroller) return onOpen(chosen);
    if (!(event.key in steps) || rows.length === 0) return;
    event.preventDefault();
    const at = rows.findIndex((row) => row.func === chosen);
    const next = Math.min(rows.length - 1, Math.max(0, at + steps[event.key]));
    followed = rows[next].func;
    reveal(next);
    onChoose(rows[next].func);
  });
  function reveal(index) {
    const y = index * kRowPixels;
    const room = scroller.clientHeight - 2 * kRowPixels;
    if (y < scroller.scrollTop || y > scroller.scrollTop + room) scroller.scrollTop = Math.max(0, y - room / 2);
  }
  const redraw = beforeNextFrame(draw);
  scroller.addEventListener("scroll", redraw);
  // The details of what is chosen take room, which must not hide it.
  new ResizeObserver(() => {
    if (chosen !== null && chosen === followed) reveal(rows.findIndex((row) => row.func === chosen));
    redraw();
  }).observe(scroller);

  return {
    /** @param {import("../data/rows.js").Row[]} next sorted @param {string} sort @param {number|null} func chosen */
    show(next, sort, func) {
      rows = next;
      chosen = func;
      table.setAttribute("aria-rowcount", rows.length + 1);
      table.setAttribute("aria-description", counted(rows.length, "function"));
      headings.forEach((heading, i) => {
        const isSorted = columns[i].sort !== "" && sort.replace("-", "") === columns[i].sort;
        const textual = ["name", "module", "file"].includes(columns[i].sort);
        heading.setAttribute("aria-sort", !isSorted ? "none" :
          sort.startsWith("-") !== textual ? "ascending" : "descending");
      });
      draw();
    },
  };
}

/** Where a row begins, in pixels of what scrolls it: its top, where the row is not in sight. */
export function placeOfRow(scroller, selector) {
  const row = scroller.querySelector(selector)?.getBoundingClientRect();
  const {left, top, bottom} = scroller.getBoundingClientRect();
  return row && row.bottom > top && row.top < bottom ? {x: row.left - left + kRowPixels, y: row.bottom - top} : {x: 0, y: 0};
}

/** What state.sort becomes when a column's heading is pressed. */
export function nextSort(sort, column) {
  return sort === column ? `-${column}` : column;
}
