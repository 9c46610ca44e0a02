// Sandwich: one function, who calls it above, what it calls below, wherever that happens.

import {h} from "../dom.js";
import {percent, weight} from "../format.js";
import {treeLayout} from "../data/tree_layout.js";
import {createBoxChart} from "./box_chart.js";
import {chartColors, isDark} from "./painter.js";
import {createChooser} from "./table.js";

// One slice: its boxes choose the function that the sandwich is about next.
function createSlice(element, label, state, {derived, names, painter, tooltip, menu}) {
  let tree = null;
  let layout = null;
  let made = {};  // the options that `tree` was made with
  const chart = createBoxChart(element, {label}, {
    clickZooms: false,
    onChoose: (box) => box.node !== 0 && state.set({focus: box.func, frame: []}),
    menu, pathOf: () => [],
    onHover(box, event) {
      tooltip.show(box === null ? null : box.merged ? names.merged(box) :
        names.about(tree, box.node, derived.errorIn(tree, made)(box.node), derived.all()), event);
    },
  });
  return {
    show(next, options) {
      if (next !== tree) {
        tree = next;
        layout = treeLayout(tree, null);
        made = options;
      }
      chart.show({
        range: [0, 1],
        boxes: layout.boxes,
        look: painter.ofTree(tree, options),
        name: (box) => names.of(box.func),
        isChosen: (box) => box.node === 0,
        rootAtBottom: options.inverted,
        colors: chartColors(isDark(state.get())),
      });
    },
  };
}

export function create(element, profile, state, context) {
  const {derived, status} = context;
  const list = h("div", {class: "sandwich-list"});
  const above = h("div", {class: "slice"});
  const below = h("div", {class: "slice"});
  const slices = h("div", {class: "sandwich-slices"},
    h("p", {class: "slice-label"}, "callers"), above, below, h("p", {class: "slice-label"}, "callees"));
  element.append(h("div", {class: "sandwich"}, list, slices));
  const chooser = createChooser(list, profile, state, context);
  const callers = createSlice(above, "callers", state, context);
  const callees = createSlice(below, "callees", state, context);

  return {
    redraw() {
      chooser.redraw();
      const flat = derived.flat();
      const func = state.get().focus ?? flat.func.find((each) => each >= 0) ?? -1;
      slices.hidden = func < 0;
      if (func < 0) return status.show("no functions are selected");
      const row = derived.flatRow(func);
      status.show(row === undefined ? "the function has no samples in this selection" :
        `self ${weight(flat.self[row])}, ${percent(flat.self[row] / derived.all().ns)} · ` +
        `total ${weight(flat.total[row])}, ${percent(flat.total[row] / derived.all().ns)}`);
      callers.show(derived.callers(func), {inverted: true, root: func});
      callees.show(derived.callees(func), {root: func});
    },
  };
}
