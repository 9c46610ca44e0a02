// Data that views derive from the selection: computed on first use, and kept until the selection
// changes.

import {byThread} from "./data/by_thread.js";
import {flatTable} from "./data/flat.js";
import {boundOfAll, errorNs} from "./data/noise.js";
import {matchingMarkers} from "./data/markers.js";
import {partOfTree, stackParts} from "./data/parts.js";
import {compile, matchingFunctions, weightWith} from "./data/search.js";
import {weightsByStack} from "./data/selection.js";
import {transformed} from "./data/transforms.js";
import {callersOf, calleesOf, callTree} from "./data/tree.js";
import {treeLayout} from "./data/tree_layout.js";

const kTellingSamples = 16;  // with fewer, no change is shown

/**
 * @param {import("./data/profile.js").Profile} whole
 * @param {ReturnType<import("./state.js").createState>} state
 */
export function createDerived(whole, state) {
  let selection = null;
  let transforms = null;
  let profile = whole;  // with the transforms
  let kept = new Map();
  // For the current selection.
  const once = (key, make) => {
    if (transforms !== state.get().transforms) {
      transforms = state.get().transforms;
      profile = transformed(whole, transforms);
      selection = null;
    }
    if (selection !== state.get().selection) {
      selection = state.get().selection;
      kept = new Map();
    }
    if (!kept.has(key)) kept.set(key, make());
    return kept.get(key);
  };
  const hasWaits = whole.samples.waiting.includes(1);
  // Samples on CPU: only they have a sampling error.
  const onCpu = () => once("on CPU", () => {
    if (!hasWaits) return derived.weights();
    if (selection.state !== "waiting") return weightsByStack(profile, {...selection, state: "cpu"});
    const {length} = derived.weights().ns;
    return {ns: new Float64Array(length), samples: new Uint32Array(length)};
  });
  const samplesOnCpu = () => once("samples on CPU",
    () => onCpu().samples.reduce((sum, value) => sum + value, 0));
  let pattern = null;
  let found = {expression: null, error: "", functions: null, markers: null};

  const derived = {
    /** The profile after what was done to its stacks. */
    profile: () => once("profile", () => profile),
    weights: () => once("weights", () => weightsByStack(profile, selection)),
    /** From all samples of the selection. */
    all: () => once("all", () => {
      const {ns, samples} = derived.weights();
      return {ns: ns.reduce((sum, value) => sum + value, 0),
        samples: samples.reduce((sum, value) => sum + value, 0)};
    }),
    tree: (inverted) => once(`tree ${inverted}`,
      () => callTree(profile, derived.weights(), {inverted})),
    /** The chosen frame in the tree that is shown; null where there is none. */
    chosenFrame() {
      const {frame, inverted, view} = state.get();
      if (frame.length === 0) return null;
      const options = {inverted: inverted && view !== "timeorder"};
      const tree = derived.tree(options.inverted);
      const layout = treeLayout(tree, null);
      const node = layout.nodeAt(frame);
      return layout.pathOf(node).length === frame.length ? {tree, node, error: derived.errorIn(tree, options)(node)} : null;
    },
    flat: () => once("flat", () => flatTable(profile, derived.weights())),
    /** The row of a function in the flat table, by function. */
    flatRow: (func) => once("rows", () => {
      const {func: functions} = derived.flat();
      return new Map(Array.from(functions, (value, row) => [value, row]));
    }).get(func),
    byThread: (func) => once(`threads of ${func}`, () => byThread(profile, selection, func)),
    callers: (func) => once(`callers ${func}`, () => callersOf(profile, derived.weights(), func)),
    callees: (func) => once(`callees ${func}`, () => calleesOf(profile, derived.weights(), func)),
    /** By node of a tree: half of the 95 % confidence interval, in ns. */
    errorIn: (tree, options) => once(tree, () => {
      const all = samplesOnCpu();
      if (!hasWaits) return (node) => errorNs(tree.samples[node], all, tree.total[node]);
      const {tree: own, nodeOf} = partOfTree(profile, tree, {weights: onCpu()}, options);
      return (node) => {
        const place = nodeOf(node);
        return place < 0 ? 0 : errorNs(own.samples[place], all, own.total[place]);
      };
    }),
    /** By function, the same of self and total. */
    errorOf: (func) => once("errors", () => {
      const all = samplesOnCpu();
      const flat = flatTable(profile, onCpu());
      return new Map(Array.from(flat.func, (each, row) => [each, {
        self: errorNs(flat.selfSamples[row], all, flat.self[row]),
        total: errorNs(flat.totalSamples[row], all, flat.total[row])}]));
    }).get(func) ?? {self: 0, total: 0},
    /** Standard deviations that a change of a comparison must be beyond. */
    bound: () => once("bound",
      () => boundOfAll(derived.flat().totalSamples.filter((samples) => samples >= kTellingSamples).length)),
    /** The selection by thread, or by side of the comparison. */
    parts: (by) => once(`parts ${by}`, () => stackParts(profile, selection, by)),
    /** What is searched for: functions and markers are null without a pattern, or a wrong one. */
    found: () => {
      if (state.get().search !== pattern) {
        pattern = state.get().search;
        const {expression, error} = compile(pattern);
        found = {expression, error,
          functions: expression && matchingFunctions(whole, expression),
          markers: expression && matchingMarkers(whole.markers, expression)};
      }
      return found;
    },
    /** What the samples weigh that have a function of those on the stack. */
    foundWeight: () => once(`found ${state.get().search}`,
      () => weightWith(profile, derived.found().functions, derived.weights())),
  };
  return derived;
}
