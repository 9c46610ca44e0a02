// Below a view: what is selected, what the colours mean, what the picture leaves out.

import {changeColor, moduleColor, moduleHues, moduleRanks, pythonColor, threadColor} from "../data/color.js";
import {isSure} from "../data/rows.js";
import {everything} from "../data/selection.js";
import {h} from "../dom.js";
import {count, counted, duration, weight} from "../format.js";
import {removeTransform, transformSaid} from "../transforms.js";
import {isDark} from "./painter.js";
import {comparedRows} from "./table.js";

const kMostLegend = 6;

function selectionText({selection}, {samples, ns}, profile) {
  const {threads, fromNs, toNs, state} = selection;
  const words = [];
  if (threads) words.push(`${count(threads.size)} of ${counted(profile.threads.length, "thread")}`);
  if (fromNs > 0 || toNs < Infinity) {
    words.push(`${duration(fromNs)} to ${duration(Math.min(toNs, profile.meta.durationNs))}`);
  }
  if (state !== "all") words.push({cpu: "on CPU", waiting: "waiting"}[state]);
  return {isPart: words.length !== 0,
    text: [...words, `${weight(ns)} in ${counted(samples, "sample")}`].join(" · ")};
}

function swatch(color, text) {
  return h("span", {class: "legend-item"}, h("i", {class: "swatch", style: `background:${color}`}), text);
}

/** @param {HTMLElement} element */
export function create(element, profile, state, {derived, names, hidden, actions, comparison}) {
  const selected = h("span", {class: "selected"});
  const clear = h("button", {"data-action": "select-all", class: "link",
    onclick: () => state.set({selection: everything(), span: [0, 1], zoom: [], seen: [0, Infinity]})}, "Show all");
  const legend = h("span", {class: "legend"});
  const message = h("span", {class: "message", role: "status"});
  const chips = h("span", {class: "chips"});
  element.append(chips, selected, clear, message, h("span", {}, hidden), legend);
  const hues = moduleHues(profile);
  const ranks = moduleRanks(profile);
  const byRank = [...profile.modules.keys()].sort((a, b) => ranks[a] - ranks[b]);

  const legends = {
    module(dark) {
      const items = byRank.slice(0, kMostLegend)
        .map((module) => swatch(moduleColor(hues[module], dark), profile.modules[module].name));
      if (profile.functions.python.includes(1)) items.unshift(swatch(pythonColor(dark), "Python"));
      if (byRank.length > kMostLegend) items.push(h("span", {}, `and ${count(byRank.length - kMostLegend)} more`));
      return items;
    },
    thread: (dark) => [...derived.parts("thread").map(({threads: [thread]}, rank) =>
      swatch(threadColor(rank, dark), names.thread(thread))),
    ...(profile.threads.length > derived.parts("thread").length ? [swatch(threadColor(-1, dark), "others")] : [])],
    diff: (dark) => [swatch(changeColor(1, 0, dark), "less in B"),
      swatch(changeColor(0, 1, dark), "more in B"),
      swatch(changeColor(1, 1, dark), "no sure change")],
  };
  // In a comparison: whether anything changed, beyond chance.
  const verdict = h("strong", {class: "verdict"});
  const end = h("button", {class: "link", "data-action": "end-comparison", onclick: () => actions.endComparison()}, "End the comparison");
  if (profile.meta.diff) element.prepend(verdict, comparison === null ? "" : end);
  function sayVerdict() {
    const rows = comparedRows(derived);
    const changed = rows.filter(({change}) => isSure(change)).length;
    verdict.textContent = changed === 0 ? `Nothing changed beyond chance, in ${counted(rows.length, "function")}` :
      `${count(changed)} of ${counted(rows.length, "function")} changed beyond chance`;
  }

  return {
    /** Says what the view leaves out. @param {string} text */
    show: (text) => { message.textContent = text; },
    redraw() {
      const shown = state.get();
      const {text, isPart} = selectionText(shown, derived.all(), profile);
      selected.textContent = text;
      clear.hidden = !isPart;
      if (profile.meta.diff) sayVerdict();
      chips.replaceChildren(...shown.transforms.map((each, i) => {
        const said = transformSaid(each, names, profile.modules);
        return h("button", {class: "chip", "data-action": "undo", title: `${said}: undo`, "aria-label": `Undo: ${said}`,
          onclick: () => removeTransform(state, i)}, h("span", {}, said), " ✕");
      }));
      legend.replaceChildren(...(["sandwich", "flame", "icicle", "leftheavy", "sunburst"].includes(shown.view) ?
        legends[shown.colorBy] : legends.module)(isDark(shown)));
    },
  };
}
