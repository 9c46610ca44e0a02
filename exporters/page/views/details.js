// The chosen function and frame: its place, its time in each thread, and the stack that leads to it.

import {inlining} from "../data/by_thread.js";
import {isNoise} from "../data/noise.js";
import {h} from "../dom.js";
import {count, counted, margin, percent, weight} from "../format.js";

const kInlining = {never: "not inlined", always: "inlined into its callers", sometimes: "inlined into some of its callers"};

function fact(name, ...value) {
  return h("div", {class: "fact"}, h("dt", {}, name), h("dd", {}, ...value));
}

/** "1.23 s, 4.5 % ± 0.6 %" */
function weightAndShare(ns, error, all) {
  return `${weight(ns)}, ${percent(ns / all.ns)}${margin(error / all.ns)}`;
}

function threadTable(rows, profile, all) {
  const body = rows.map(({thread, self, total, samples}) => h("tr", {},
    h("td", {}, profile.threads[thread].name), h("td", {class: "number"}, String(profile.threads[thread].tid)),
    h("td", {class: "number"}, weight(self)), h("td", {class: "number"}, weight(total)),
    h("td", {class: "number"}, percent(total / all.ns)), h("td", {class: "number"}, count(samples))));
  return h("table", {class: "by-thread", "aria-label": "self and total by thread"},
    h("thead", {}, h("tr", {}, ...[["Thread", ""], ["tid", "number"], ["Self", "number"], ["Total", "number"],
      ["Share", "number"], ["Samples", "number"]].map(([title, kind]) =>
      h("th", {scope: "col", class: kind}, title)))), h("tbody", {}, ...body));
}

/**
 * @param {HTMLElement} element
 * @param {import("../data/profile.js").Profile} profile
 * @param {ReturnType<import("../state.js").createState>} state
 */
export function create(element, profile, state, {derived, names, frameActions}) {
  const kMostThreads = 50;  // they are written anew with each function that is chosen

  function functionFacts(func, shown) {
    const all = derived.all();
    const flat = derived.flat();
    const row = derived.flatRow(func);
    const frame = derived.chosenFrame();
    const stack = frame ? frame.tree.stack[frame.node] : -1;
    const line = stack >= 0 ? derived.profile().stacks.line[stack] : 0;
    const here = stack >= 0 && !shown.inverted;
    const inlined = !here ? kInlining[inlining(derived.profile(), func)] :
      derived.profile().stacks.inlined[stack] ? kInlining.always : "not inlined here";
    const noModule = profile.functions.wait[func] ? "none: it stands for a wait" :
      profile.functions.python[func] ? "none: it is Python" : "unknown";
    const error = derived.errorOf(func);
    const noise = row !== undefined && isNoise(error.total, flat.total[row]);
    return h("dl", {class: "facts"},
      fact("self", row === undefined ? "none in this selection" :
        weightAndShare(flat.self[row], error.self, all)),
      row === undefined ? null : fact("total", weightAndShare(flat.total[row], error.total, all)),
      row === undefined ? null : fact("samples", `${count(flat.selfSamples[row])} in it, ` +
        `${count(flat.totalSamples[row])} with it on the stack`),
      frame ? fact("this frame", `self ${weight(frame.tree.self[frame.node])}, total ` +
        weightAndShare(frame.tree.total[frame.node], frame.error, all)) : null,
      fact("library", names.modulePath(func) || noModule),
      fact("defined", names.place(func, {whole: true}) || "no source known"),
      line !== 0 ? fact("line here", `${line}`) : null,
      profile.functions.wait[func] ? null : fact("inlined", inlined),
      noise ? fact("note", "so few samples that its share could be chance") : null);
  }

  function stackList(path, func, shown) {
    const listed = path.length ? path : [func];
    const upwards = shown.inverted ? listed : listed.toReversed();
    return h("ol", {class: "stack", "aria-label": "stack, innermost first"}, ...upwards.map((each) =>
      h("li", {}, h("button", {class: "link", title: names.of(each),
        onclick: () => state.set({focus: each, frame: []})}, names.of(each)))));
  }

  return {
    redraw() {
      const shown = state.get();
      const func = shown.focus;
      const isOpen = func !== null && func >= 0;
      for (const each of [element, element.previousElementSibling]) each.hidden = !isOpen;
      if (!isOpen) return element.replaceChildren();
      const path = shown.frame.at(-1) === func ? shown.frame : [];
      const threads = derived.byThread(func);
      element.replaceChildren(
        h("div", {class: "about", tabindex: 0, role: "group", "aria-label": "chosen function"},
          h("div", {class: "line"}, h("h2", {class: "function-title", title: names.of(func)}, names.of(func)),
            h("button", {"data-action": "close-details", class: "sign", "aria-label": "Close the details", title: "close",
              onclick: () => state.set({focus: null, frame: []})}, "✕")),
          h("div", {class: "actions"}, ...frameActions.of(func, path).map(({id, text, key, run}) =>
            h("button", {"data-action": id, title: key ?? null, onclick: run}, text))),
          functionFacts(func, shown)),
        h("div", {class: "threads-of", tabindex: 0, role: "group", "aria-label": "by thread"}, threadTable(threads.slice(0, kMostThreads), profile, derived.all()),
          threads.length > kMostThreads ?
            h("p", {class: "hint"}, `and ${counted(threads.length - kMostThreads, "thread")} with less`) : null),
        h("div", {class: "stack-of", tabindex: 0, role: "group", "aria-label": "stack"}, stackList(path, func, shown)));
    },
  };
}
