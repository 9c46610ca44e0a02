// The table of functions: self and total, each with what chance leaves open, module and place.

import {flatTable} from "../data/flat.js";
import {isSure, sortRows, tableRows} from "../data/rows.js";
import {count, margin, percent, weightCell, weightUnit} from "../format.js";
import {h} from "../dom.js";
import {createFunctionTable, nextSort} from "./function_table.js";

/** A share as a number, and as a bar beside it. */
function share(value, error) {
  return h("span", {class: "share", title: error > 0 ? `95 % confidence:${margin(error)}` : ""},
    h("span", {class: "value"}, percent(value)), h("span", {class: "error"}, margin(error).trim()),
    h("span", {class: "share-room", "aria-hidden": "true"},
      h("span", {class: "share-bar", style: `width:${(Math.min(1, value) * 100).toFixed(2)}%`})));
}

/** Name with the colour of its module. */
function named(func, names, painter) {
  return h("span", {class: "function-name", title: names.of(func)},
    h("i", {class: "swatch", style: `background:${painter.ofFunctions()(func).fill}`}),
    h("span", {class: "function-text"}, func < 0 ? "[unknown]" : names.of(func)));
}

// In a comparison, only the shares of each side have a meaning, not those of both together.
function changeColumns({a, b}) {
  return [
    {sort: "change", title: "Change", hint: "of the self share", number: true, cell: ({change}) => {
      const difference = change.after - change.before;
      return h("span", {class: isSure(change) ? (difference > 0 ? "grew" : "shrank") : "unsure",
        title: "with 99 % confidence none of those beyond ± is chance"},
      `${difference > 0 ? "+" : ""}${percent(difference)} ± ${percent(change.error)}`);
    }},
    {sort: "", title: "A %", hint: `self, in ${a}`, number: true, cell: (row) => percent(row.change.before)},
    {sort: "", title: "B %", hint: `self, in ${b}`, number: true, cell: (row) => percent(row.change.after)},
  ];
}

function columnsOf(profile, {names, painter, derived}) {
  const all = () => derived.all().ns || 1;
  const compared = profile.meta.diff;
  const shares = [["Self %", "self", "selfError"], ["Total %", "total", "totalError"]].map(
    ([title, key, error]) => compared ? [] : [{sort: "", title, number: true,
      cell: (row) => share(row[key] / all(), row[error] / all())}]);
  return [
    ...(compared ? changeColumns(compared) : []),
    {sort: "self", title: `Self ${weightUnit()}`, hint: "in it, not in what it calls", number: true,
      cell: (row) => weightCell(row.self)},
    ...shares[0],
    {sort: "total", title: `Total ${weightUnit()}`, hint: "in it and in what it calls", number: true,
      cell: (row) => weightCell(row.total)},
    ...shares[1],
    {sort: "samples", title: "Samples", hint: "taken in it", number: true, cell: (row) => count(row.samples)},
    {sort: "name", title: "Function", wide: true, cell: (row) => named(row.func, names, painter)},
    {sort: "module", title: "Library", cell: (row) =>
      h("span", {title: names.modulePath(row.func)}, names.module(row.func))},
    {sort: "file", title: "File:line", cell: (row) =>
      h("span", {title: names.place(row.func, {whole: true})}, names.place(row.func))},
  ];
}

/** The functions of a comparison. */
export function comparedRows(derived) {
  const sides = derived.parts("diff").map((part) => ({flat: flatTable(derived.profile(), part.weights), all: part}));
  return tableRows(derived.flat(), derived.errorOf, sides, derived.bound());
}

/** The rows of the selection that the search leaves, sorted. */
export function shownRows(profile, state, derived, names) {
  const matches = derived.found().functions;
  const rows = (profile.meta.diff ? comparedRows(derived) : tableRows(derived.flat(), derived.errorOf))
    .filter(({func}) => matches === null || (func >= 0 && matches[func]));
  return sortRows(rows, state.get().sort, names);
}

export function create(element, profile, state, context) {
  const {derived, names, status, menu} = context;
  const table = createFunctionTable(element, columnsOf(profile, context), {
    label: "functions", menu,
    onSort: (column) => state.set({sort: nextSort(state.get().sort, column)}),
    onChoose: (func) => state.set({focus: func < 0 ? null : func, frame: []}),
    onOpen: (func) => func >= 0 && state.set({focus: func, frame: [], view: "sandwich"}),
  });
  return {
    redraw() {
      const rows = shownRows(profile, state, derived, names);
      status.show(rows.length === derived.flat().count ? `${count(rows.length)} functions` :
        `${count(rows.length)} of ${count(derived.flat().count)} functions`);
      table.show(rows, state.get().sort, state.get().focus);
    },
  };
}

/** A narrow one, to choose from. */
export function createChooser(element, profile, state, {derived, names, painter, menu}) {
  const all = () => derived.all().ns || 1;
  const columns = [
    {sort: "self", title: "Self %", number: true, cell: (row) => percent(row.self / all())},
    {sort: "total", title: "Total %", number: true, cell: (row) => percent(row.total / all())},
    {sort: "name", title: "Function", wide: true, cell: (row) => named(row.func, names, painter)},
  ];
  const table = createFunctionTable(element, columns, {
    label: "functions to choose from", menu,
    onSort: (column) => state.set({sort: nextSort(state.get().sort, column)}),
    onChoose: (func) => func >= 0 && state.set({focus: func, frame: []}),
    onOpen: () => {},
  });
  return {
    redraw: () => table.show(shownRows(profile, state, derived, names), state.get().sort, state.get().focus),
  };
}
