// The workers of a job, a row each: how much of the chosen function each has, against the mean, and when, as heat.

import {oklch} from "../data/color.js";
import {workerRows, workersOf} from "../data/workers.js";
import {h} from "../dom.js";
import {counted, weight} from "../format.js";
import {isDark} from "./painter.js";

const kSlices = 240;
const kHeat = {light: (share) => oklch(0.97 - 0.45 * share, 0.02 + 0.14 * share, 40), dark: (share) => oklch(0.25 + 0.5 * share, 0.02 + 0.13 * share, 50)};
const kOrders = {
  order: (a, b) => a.index - b.index,
  imbalance: (a, b) => b.imbalance - a.imbalance || a.index - b.index,
};

/** Whether there is anything to compare. @param {import("../data/profile.js").Profile} profile */
export const hasWorkers = (profile) => profile.meta.hasTimes && !profile.meta.diff && workersOf(profile).length > 1;

function heatOf({heat}, most, dark) {
  const canvas = h("canvas", {class: "heat", width: heat.length, height: 1, "aria-hidden": "true"});
  const context = canvas.getContext("2d");
  const color = dark ? kHeat.dark : kHeat.light;
  heat.forEach((value, slice) => {
    context.fillStyle = color(most === 0 ? 0 : Math.min(1, value / most));
    context.fillRect(slice, 0, 1, 1);
  });
  return canvas;
}

/** @param {HTMLElement} element */
export function create(element, profile, state, {derived, names, status}) {
  const workers = workersOf(profile);
  const title = h("h2", {class: "function-title"});
  let order = "order";
  const sorter = (name, text) => h("button", {class: "sorter", "data-order": name, onclick() {
    order = name;
    draw();
  }}, text);
  const heads = {order: h("th", {scope: "col"}, sorter("order", "Worker")),
    imbalance: h("th", {scope: "col", class: "number", title: "divided by the mean over the workers"}, sorter("imbalance", "Of the mean"))};
  const body = h("tbody");
  element.append(h("div", {class: "workers", tabindex: 0, role: "group", "aria-label": "workers"}, title,
    h("table", {class: "functions", "aria-label": "workers"},
      h("thead", {}, h("tr", {}, heads.order, h("th", {scope: "col", class: "number"}, "Time"), heads.imbalance, h("th", {scope: "col", class: "wide"}, "Over time"))), body)));
  let rows = [];

  function draw() {
    const {selection} = state.get();
    const most = Math.max(...rows.map(({heat}) => Math.max(...heat)));
    const isChosen = ({threads}) => selection.threads !== null && threads.length === selection.threads.size && threads.every((thread) => selection.threads.has(thread));
    for (const [name, head] of Object.entries(heads)) {
      head.setAttribute("aria-sort", name !== order ? "none" : name === "order" ? "ascending" : "descending");
    }
    body.replaceChildren(...rows.toSorted(kOrders[order]).map((row) => h("tr", {"data-worker": row.worker.name, "aria-selected": String(isChosen(row.worker))},
      h("td", {}, h("button", {class: "link", title: "show only its threads; again: all", onclick: () => state.set({selection: {...state.get().selection,
        threads: isChosen(row.worker) ? null : new Set(row.worker.threads)}})}, row.worker.name)),
      h("td", {class: "number"}, weight(row.ns)), h("td", {class: "number"}, `${(100 * row.imbalance).toFixed(1)} %`),
      h("td", {class: "wide"}, heatOf(row, most, isDark(state.get()))))));
  }

  return {
    redraw() {
      const {selection, focus} = state.get();
      rows = workerRows(derived.profile(), workers, selection, {func: focus, slices: kSlices});
      title.textContent = focus === null ? "All functions: choose one to see where it differs" : names.of(focus);
      draw();
      status.show(counted(workers.length, "worker"));
    },
  };
}
