// How the boxes of a tree look: by module, thread or change; what is searched for stands out, and a
// share that could be chance is hatched.

import {changeColor, functionColors, oklch, theme, threadColor} from "../data/color.js";
import {differenceError, isNoise} from "../data/noise.js";
import {partOfTree} from "../data/parts.js";

const kHatchedPixels = 3;  // on less nobody sees it

/** Whether the page is dark now. @param {import("../state.js").Shown} shown */
export function isDark(shown) {
  return shown.theme === "dark" ||
    (shown.theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
}

/** The colors of a chart, but for its boxes. */
export function chartColors(dark) {
  return dark ? {merged: theme(dark).merged, chosen: "#ffffff", background: theme(dark).background,
    muted: "#a6acb8"} : {merged: theme(dark).merged, chosen: "#14161a",
    background: theme(dark).background, muted: "#5a606c"};
}

// Shares and samples of a node on both sides of a comparison.
function bySide(parts, trees, node) {
  return parts.map((part, side) => {
    const own = trees[side].nodeOf(node);
    return own < 0 || part.ns === 0 ? {share: 0, met: 0, all: part.samples} :
      {share: trees[side].tree.total[own] / part.ns, met: trees[side].tree.samples[own], all: part.samples};
  });
}

function byChange(derived, tree, options, dark) {
  const parts = derived.parts("diff");
  const trees = parts.map((part) => partOfTree(derived.profile(), tree, part, options));
  return (node) => {
    const [before, after] = bySide(parts, trees, node);
    const sure = Math.abs(after.share - before.share) > differenceError(before, after, derived.bound());
    return sure ? changeColor(before.share, after.share, dark) : changeColor(0, 0, dark);
  };
}

// By the thread that most of the node is of.
function byThread(derived, tree, options, dark) {
  const parts = derived.parts("thread");
  const trees = parts.map((part) => partOfTree(derived.profile(), tree, part, options));
  return (node) => {
    let most = 0;
    let rank = -1;
    let rest = tree.total[node];
    trees.forEach(({tree: own, nodeOf}, i) => {
      const place = nodeOf(node);
      const weight = place < 0 ? 0 : own.total[place];
      rest -= weight;
      if (weight > most) [most, rank] = [weight, i];
    });
    return threadColor(rest > most ? -1 : rank, dark);
  };
}

/**
 * @param {import("../data/profile.js").Profile} profile
 * @param {ReturnType<import("../derived.js").createDerived>} derived
 * @param {ReturnType<import("../state.js").createState>} state
 */
export function createPainter(profile, derived, state) {
  const colors = new Map();
  const byModule = (dark) => {
    if (!colors.has(dark)) colors.set(dark, functionColors(profile, dark));
    return colors.get(dark);
  };
  return {
    byModule,
    /**
     * @param {import("../data/growing_tree.js").Tree} tree
     * @param {object} options of callTree that it was made with
     * @returns {(box: {node: number, func: number}) => import("./box_chart.js").Look}
     */
    ofTree(tree, options) {
      const shown = state.get();
      const dark = isDark(shown);
      const {text} = theme(dark);
      const ofFunction = byModule(dark);
      const ofNode = {
        module: () => null,
        thread: () => byThread(derived, tree, options, dark),
        diff: () => byChange(derived, tree, options, dark),
      }[shown.colorBy]();
      const matches = derived.found().functions;
      const [match, faint] = [oklch(...theme(dark).match), oklch(...theme(dark).faint, 80)];
      const errorIn = derived.errorIn(tree, options);
      return ({node, func, width}) => {
        const hatched = width >= kHatchedPixels && isNoise(errorIn(node), tree.total[node]);
        if (matches) return {fill: func >= 0 && matches[func] ? match : faint, text, hatched: false};
        return {fill: ofNode && func >= 0 ? ofNode(node) : ofFunction(func), text, hatched};
      };
    },
    /** Where there are functions and no tree. */
    ofFunctions() {
      const dark = isDark(state.get());
      const {text} = theme(dark);
      const matches = derived.found().functions;
      const [match, faint] = [oklch(...theme(dark).match), oklch(...theme(dark).faint, 80)];
      const ofFunction = byModule(dark);
      return (func) => ({text, hatched: false,
        fill: matches ? (func >= 0 && matches[func] ? match : faint) : ofFunction(func)});
    },
  };
}
