// Flame graph, icicle and left-heavy: the call tree as boxes, from all threads' roots or, inverted,
// from where the time was spent.

import {count} from "../format.js";
import {nameRanks, treeLayout} from "../data/tree_layout.js";
import {createBoxChart} from "./box_chart.js";
import {chartColors, isDark} from "./painter.js";

const kLabels = {flame: "flame graph", icicle: "icicle", leftheavy: "left heavy, icicle by weight"};

/**
 * @param {HTMLElement} element
 * @param {import("../data/profile.js").Profile} profile
 * @param {ReturnType<import("../state.js").createState>} state
 * @param {object} context of the page: derived, names, painter, tooltip, status
 */
export function create(element, profile, state, {derived, names, painter, tooltip, status, menu}) {
  let ranks = null;
  let layout = null;
  let tree = null;
  let zoom = null;  // that was shown last

  const errorOf = (node) => derived.errorIn(tree, {inverted: state.get().inverted})(node);
  const opened = new Map();  // by tree: nodes that begin a chain which was opened
  const openedOf = () => opened.get(tree) ?? opened.set(tree, new Set()).get(tree);
  const chosen = (box) => ({frame: layout.pathOf(box.node), focus: box.func < 0 ? null : box.func});
  const chart = createBoxChart(element, {label: "call tree"}, {
    onChoose: (box) => state.set(chosen(box)),
    onZoom: (box) => box.folded ? (openedOf().add(box.node), view.redraw()) : state.set({...chosen(box), zoom: layout.pathOf(box.node), span: [0, 1]}),
    onRange: (span) => state.set({zoom: [], span}),
    menu, pathOf: (box) => layout.pathOf(box.node),
    onHover(box, event) {
      tooltip.show(box === null ? null : box.merged ? names.merged(box) :
        box.folded ? names.folded(tree, box) : names.about(tree, box.node, errorOf(box.node), derived.all()), event);
    },
    onDrawn(boxes) {
      const merged = boxes.reduce((sum, box) => sum + box.merged, 0);
      const frames = merged === 1 ? "1 frame" : `${count(merged)} frames`;
      status.show(merged === 0 ? "" : `in grey: ${frames} narrower than a pixel`);
    },
  });

  const view = {
    redraw() {
      const shown = state.get();
      const {view: kind, inverted} = shown;
      const next = derived.tree(inverted);
      const byWeight = kind === "leftheavy";
      if (next !== tree || layout.byWeight !== byWeight) {
        tree = next;
        ranks ??= nameRanks(profile);
        layout = {...treeLayout(tree, byWeight ? null : ranks), byWeight};
      }
      const zoomedTo = layout.nodeAt(shown.zoom);
      const [begin, end] = layout.extentOf(zoomedTo);
      const range = shown.span.map((share) => begin + share * (end - begin));
      const node = layout.nodeAt(shown.frame);
      const isThere = node !== 0 && layout.pathOf(node).length === shown.frame.length;
      const folds = !shown.fold ? null : {opened: openedOf(), kept: new Set(isThere ? [zoomedTo, node] : [zoomedTo])};
      chart.canvas.setAttribute("aria-label", `${kLabels[kind]}${inverted ? ", inverted" : ""}`);
      chart.show({
        range,
        boxes: (from, to, width) => layout.boxes(from, to, width, folds),
        look: painter.ofTree(tree, {inverted}),
        name: (box) => box.folded ? names.chain(tree, box) : names.of(box.func),
        isChosen: (box) => isThere && box.node === node,
        rootAtBottom: kind === "flame",
        colors: chartColors(isDark(shown)),
      });
      if (zoom !== shown.zoom && shown.zoom.length > 0) chart.bringToRoot(chart.boxes().find((box) => box.node === zoomedTo && !box.merged)?.row ?? 0);
      zoom = shown.zoom;
    },
  };
  return view;
}
