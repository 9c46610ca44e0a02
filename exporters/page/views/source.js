// The source of the chosen function with the time of each line in the selection, and its instructions
// with their time in the whole recording. Only pages that were made with --with-source have it.

import {sourceOf, timeByLine} from "../data/sources.js";
import {h} from "../dom.js";
import {count, percent, weight} from "../format.js";

const kHot = 0.1;  // of the function's time: lines that stand out

/** @param {HTMLElement} element */
export function create(element, profile, state, {derived, names, status, sources}) {
  const lines = h("div", {class: "source-lines", tabindex: 0, role: "region", "aria-label": "source"});
  const code = h("div", {class: "source-code", tabindex: 0, role: "region", "aria-label": "instructions"});
  element.append(h("div", {class: "source"}, lines, code));
  let drawn = null;  // function, transforms and selection

  function rowsOf(cells, heads, label) {
    return h("table", {class: "code", "aria-label": label}, h("thead", {}, h("tr", {}, ...heads.map(([text, kind]) =>
      h("th", {scope: "col", class: kind}, text)))), h("tbody", {}, ...cells));
  }
  const bar = (ns, most) => h("td", {class: "number heat", style: most > 0 && ns > 0 ? `--share:${(100 * ns / most).toFixed(1)}%` : null},
    ns > 0 ? weight(ns) : "");
  const hot = (ns, all) => all > 0 && ns > kHot * all ? "hot" : "";

  function lineTable(own, func) {
    const weights = timeByLine(derived.profile(), derived.weights(), func);
    const all = [...weights.values()].reduce((sum, {self}) => sum + self, 0);
    const most = Math.max(0, ...[...weights.values()].map(({self}) => self));
    const file = sources.files.find((each) => each.file === own.file);
    const texts = new Map((file?.pieces ?? []).flatMap(({first, lines: list}) => list.map((text, i) => [first + i, text])));
    const [low, high] = [...weights.keys()].filter((line) => line > 0)
      .reduce(([a, b], line) => [Math.min(a, line), Math.max(b, line)], [own.line || Infinity, own.line]);
    const shown = [...new Set([...texts.keys()].filter((line) => line >= low - 12 && line <= high + 12).concat([...weights.keys()]))]
      .sort((a, b) => a - b);
    let last = null;
    const cells = shown.flatMap((line) => {
      const {self = 0, total = 0} = weights.get(line) ?? {};
      const gap = last !== null && line > last + 1 ? [h("tr", {class: "gap"}, h("td", {colspan: 4}, "⋯"))] : [];
      last = line;
      return [...gap, h("tr", {class: hot(self, all), "data-line": line}, bar(self, most),
        h("td", {class: "number"}, total > 0 ? weight(total) : ""), h("td", {class: "number hint"}, line === 0 ? "?" : String(line)),
        h("td", {class: "text"}, line === 0 ? "line not known" : texts.get(line) ?? ""))];
    });
    return rowsOf(cells, [["Self", "number"], ["Total", "number"], ["Line", "number"], [names.place(func, {whole: true}) || "no source known", "text"]], "source lines");
  }

  function codeTable(own) {
    if (own.code.length === 0) return h("p", {class: "hint"}, "no instructions: it is interpreted, or its file was not found");
    const most = Math.max(...own.code.map(([, , , , ns]) => ns));
    const all = own.code.reduce((sum, [, , , , ns]) => sum + ns, 0);
    let last = "";
    const cells = own.code.flatMap(([address, text, file, line, ns, samples]) => {
      const place = line > 0 ? `${file >= 0 ? sources.files[file].file.replace(/.*\//, "") : ""}:${line}` : "";
      const label = place !== "" && place !== last ? [h("tr", {class: "gap"}, h("td", {colspan: 3}), h("td", {class: "text"}, place))] : [];
      last = place;
      return [...label, h("tr", {class: hot(ns, all)}, bar(ns, most), h("td", {class: "number"}, samples > 0 ? count(samples) : ""),
        h("td", {class: "number hint"}, address), h("td", {class: "text"}, text))];
    });
    const {selection: {threads, fromNs, toNs, state: only}, transforms} = state.get();
    const isPart = threads !== null || fromNs > 0 || toNs < Infinity || only !== "all" || transforms.length > 0;
    return h("div", {}, h("p", {class: `hint code-note${isPart ? " warn" : ""}`}, "Times of instructions are those of the whole recording" +
      (isPart ? ", not of what is selected." : ".")),
    rowsOf(cells, [["Self", "number"], ["Samples", "number"], ["Address", "number"], ["Instruction", "text"]], "instructions"));
  }

  return {
    redraw() {
      const {focus} = state.get();
      const flat = derived.flat();
      const func = focus ?? flat.func.find((each) => each >= 0 && sourceOf(sources, profile, each)) ?? -1;
      const key = `${func} ${state.get().transforms.length} ${derived.all().ns} ${derived.all().samples}`;
      const own = func < 0 ? undefined : sourceOf(sources, profile, func);
      status.show(own ? `${names.of(func)}: self ${percent((flat.self[derived.flatRow(func)] ?? 0) / (derived.all().ns || 1))}` :
        "the page has neither source nor instructions of this function: it has those with most self time");
      if (key === drawn) return;
      drawn = key;
      lines.replaceChildren(own ? lineTable(own, func) : "");
      code.replaceChildren(own ? codeTable(own) : "");
      for (const pane of [lines, code]) pane.querySelector(".hot")?.scrollIntoView({block: "center"});
    },
  };
}
