// What a screen reader says when a frame of a chart is chosen: charts are pictures, which have no text of their own. Rows of tables
// and of the tree speak for themselves.

import {h} from "../dom.js";
import {counted, percent, weight} from "../format.js";

const kCharts = ["flame", "icicle", "leftheavy", "timeorder", "sunburst", "sandwich"];

/** @param {object} context of the page: derived, names */
export function createSpoken(state, {derived, names}) {
  const element = h("div", {class: "unseen", "aria-live": "polite", "data-spoken": true});
  document.body.append(element);
  let spoken = null;

  function ofFrame({tree, node}) {
    const all = derived.all().ns || 1;
    const siblings = tree.children(tree.parent[node]);
    return [names.of(tree.func[node]), `self ${weight(tree.self[node])}`,
      `total ${weight(tree.total[node])}, ${percent(tree.total[node] / all)}`,
      `depth ${state.get().frame.length}`,
      siblings.length > 1 ? `${siblings.indexOf(node) + 1} of ${siblings.length}, heaviest first` : "",
      tree.children(node).length === 0 ? "a leaf" : counted(tree.children(node).length, state.get().inverted ? "caller" : "callee")];
  }
  function ofFunction(func) {
    const row = derived.flatRow(func);
    if (row === undefined) return [names.of(func), "not in this selection"];
    const {self, total} = derived.flat();
    return [names.of(func), `self ${weight(self[row])}`, `total ${weight(total[row])}, ${percent(total[row] / (derived.all().ns || 1))}`];
  }

  return {
    redraw() {
      const {view, frame, focus} = state.get();
      if (!kCharts.includes(view)) return;
      const chosen = view === "sandwich" ? null : derived.chosenFrame();
      const text = (chosen ? ofFrame(chosen) : focus !== null && focus >= 0 ? ofFunction(focus) : []).filter(Boolean).join(", ");
      if (text !== spoken) element.textContent = spoken = text;
    },
  };
}
