// Markers as tables: what there is by name, with percentiles; of the chosen one how it is distributed,
// what the slow ones do differently, and each occurrence, which selects its time and thread.

import {explain, histogram, markerKey, markerRows} from "../data/marker_tables.js";
import {h, svg} from "../dom.js";
import {count, counted, duration} from "../format.js";

const kMostListed = 300;
const kBins = 40;
const kPlotHeight = 60;
const kKinds = {span: "Spans", section: "Sections", wait: "Waits", event: "Events", counter: "Counters"};

function plot(label, width, path) {
  return svg("svg", {viewBox: `0 0 ${width} ${kPlotHeight}`, preserveAspectRatio: "none", class: "plot", role: "img", "aria-label": label},
    svg("path", {d: path}));
}

function histogramOf(row) {
  const {least, most, counts} = histogram(row.all, kBins);
  const highest = Math.max(...counts);
  const path = counts.map((n, i) => n === 0 ? "" : `M${i} ${kPlotHeight}v${-(4 + (kPlotHeight - 4) * n / highest).toFixed(1)}h.9V${kPlotHeight}z`).join("");
  return h("figure", {}, plot(`durations of ${row.name}`, kBins, path),
    h("figcaption", {}, h("span", {}, duration(least)), h("span", {class: "hint"}, "durations, in equal factors"), h("span", {}, duration(most))));
}

function seriesOf(row, durationNs) {
  const [least, , , most] = row.percentiles;
  const low = Math.min(0, least);
  const y = (value) => (kPlotHeight * (1 - (value - low) / (most - low || 1))).toFixed(1);
  const x = (ns) => (1000 * ns / durationNs).toFixed(1);
  const path = row.all.map(({beginNs, value}, i) => `${i === 0 ? `M${x(beginNs)} ${kPlotHeight}` : `H${x(beginNs)}`}V${y(value)}`).join("") + `H1000V${kPlotHeight}z`;
  return h("figure", {}, plot(`${row.name} over time`, 1000, path), h("figcaption", {}, h("span", {}, "0 s"), h("span", {}, duration(durationNs))));
}

/** Columns before the number `numbers` are text. */
export function table(label, heads, rows, {numbers = 0} = {}) {
  return h("table", {class: "functions", "aria-label": label},
    h("thead", {}, h("tr", {}, ...heads.map((text, i) => h("th", {scope: "col", class: i >= numbers ? "number" : ""}, text)))),
    h("tbody", {}, ...rows));
}

/** @param {HTMLElement} element */
export function create(element, profile, state, {derived, names, status}) {
  const list = h("div", {class: "marker-names", tabindex: 0, role: "group", "aria-label": "names"});
  const chosenPane = h("div", {class: "marker-chosen", tabindex: 0, role: "group", "aria-label": "chosen"});
  element.append(h("div", {class: "markers"}, list, chosenPane));
  let selection = null;
  let rows = [];
  let drawn = null;  // the row that is chosen

  const value = (number) => Number.isInteger(number) ? count(number) : number.toPrecision(4);

  function nameRow(row) {
    const format = row.kind === "counter" ? value : duration;
    return h("tr", {"data-key": markerKey(row)},
      h("td", {title: row.name}, h("button", {class: "link", onclick: () => state.set({marker: markerKey(row)})}, row.name || "[no name]")),
      h("td", {class: "number"}, count(row.count)),
      ...(row.kind === "counter" ? [] : [h("td", {class: "number"}, row.totalNs === null ? "" : duration(row.totalNs))]),
      ...(row.percentiles ?? []).map((each) => h("td", {class: "number"}, format(each))));
  }
  const headsOf = (kind) => kind === "counter" ? ["Counters", "Values", "Least", "Mean", "Last", "Most"] :
    kind === "event" ? ["Events", "Count", ""] : [kKinds[kind], "Count", "Total", "p50", "p90", "p99", "Max"];

  function explanation(row) {
    if (row.kind !== "span" && row.kind !== "section") return null;
    const found = explain(derived.profile(), row.all);
    if (found.length === 0) return null;
    return h("div", {}, h("h3", {}, "What the slowest tenth does differently, per occurrence"),
      table("explanation", ["Function", "Slow", "Others"], found.map(({func, slowNs, usualNs}) => h("tr", {},
        h("td", {}, h("button", {class: "link", onclick: () => state.set({focus: func, frame: []})}, names.of(func))),
        h("td", {class: `number ${slowNs > usualNs ? "grew" : ""}`}, duration(slowNs)), h("td", {class: "number"}, duration(usualNs)))), {numbers: 1}));
  }

  // Its time and its thread, in every view.
  function select({beginNs, durationNs, thread}) {
    const [fromNs, toNs] = [Math.floor(beginNs), Math.ceil(beginNs + Math.max(1, durationNs))];
    const margin = (toNs - fromNs) / 2;
    const end = toNs + margin;
    state.set({selection: {...state.get().selection, fromNs, toNs, threads: thread < 0 ? state.get().selection.threads : new Set([thread])},
      seen: [Math.max(0, fromNs - margin), end >= profile.meta.durationNs ? Infinity : end]});
  }

  function occurrences(row) {
    const isCounter = row.kind === "counter";
    return table("occurrences", ["Begin", isCounter ? "Value" : "Duration", "Thread", "Text"], row.all.slice(0, kMostListed).map((each) => h("tr", {"data-begin": each.beginNs},
      h("td", {}, h("button", {class: "link", "data-action": "select-marker", title: "look at its time and thread", onclick: () => select(each)}, duration(each.beginNs))),
      h("td", {class: "number"}, isCounter ? value(each.value) : row.totalNs === null ? "" : duration(each.durationNs)),
      h("td", {}, each.thread < 0 ? "" : names.thread(each.thread)), h("td", {title: each.text}, each.text))), {numbers: 9});
  }

  function listNames() {
    drawn = null;
    list.replaceChildren(...Object.keys(kKinds).flatMap((kind) => {
      const own = rows.filter((row) => row.kind === kind);
      return own.length === 0 ? [] : [table(kKinds[kind], headsOf(kind), own.slice(0, kMostListed).map(nameRow), {numbers: 1}),
        ...(own.length > kMostListed ? [h("p", {class: "hint"}, `and ${count(own.length - kMostListed)} more with less`)] : [])];
    }));
    if (rows.length !== 0) return;
    list.replaceChildren(h("p", {class: "hint"}, "No markers in this selection, and nothing waited. " +
      "Programs mark what they do with sampan/markers.h; --clock wall samples waits."));
    chosenPane.replaceChildren();
  }

  function drawChosen(row) {
    drawn = row;
    for (const each of list.querySelectorAll("tr[data-key]")) each.setAttribute("aria-selected", String(each.dataset.key === markerKey(row)));
    const more = row.all.length - kMostListed;
    chosenPane.replaceChildren(...[h("h2", {class: "function-title"}, row.name || "[no name]"),
      row.kind === "counter" ? seriesOf(row, profile.meta.durationNs) : row.totalNs === null ? null : histogramOf(row),
      explanation(row), occurrences(row),
      more > 0 ? h("p", {class: "hint"}, `and ${count(more)} ${row.totalNs === null ? "later" : "shorter"} ones`) : null].filter(Boolean));
  }

  return {
    redraw() {
      const {selection: shown, marker} = state.get();
      // A marker that selects its time does not take the others away: they are of what was selected before.
      const isOne = shown !== selection && selection !== null && shown.toNs < Infinity && element.contains(document.activeElement) &&
        document.activeElement.dataset.action === "select-marker";
      if (shown !== selection && !isOne) {
        rows = markerRows(profile, shown);
        listNames();
      }
      selection = shown;
      const row = rows.find((each) => markerKey(each) === marker) ?? rows[0] ?? null;
      if (row !== drawn) drawChosen(row);
      status.show(isOne ? "selected: its time and its thread" : counted(rows.length, "name"));
    },
  };
}
