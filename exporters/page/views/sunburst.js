// Sunburst: the call tree around a centre, a ring per depth. It begins where the time first divides:
// frames that all of it goes through would be whole rings.

import {beforeNextFrame, h} from "../dom.js";
import {percent, weight} from "../format.js";
import {treeLayout} from "../data/tree_layout.js";
import {createLabels} from "./label.js";
import {chartColors, isDark} from "./painter.js";

const kMostRings = 11;
const kRoomForNames = 24;  // pixels of a radius
const kTurn = 2 * Math.PI;
const kNearlyAll = 0.995;  // the rest would be too narrow to be seen
const kUnits = 4096;  // of a turn: narrower frames are merged

export function create(element, profile, state, {derived, names, painter, tooltip, status, menu}) {
  const canvas = h("canvas", {tabindex: 0, role: "application", "aria-label": "sunburst"});
  const frame = h("div", {class: "sunburst"}, canvas);
  element.append(frame);
  const pen = canvas.getContext("2d");
  let tree = null;
  let layout = null;
  let arcs = [];
  let centre = {x: 0, y: 0, ring: 0, root: 0};
  let hovered = null;
  let look = null;
  let labels = null;

  const errorOf = (node) => derived.errorIn(tree, {inverted: state.get().inverted})(node);
  const radius = (row) => centre.ring * (row + (row === 0 ? 0 : 0.6));

  function outline(arc) {
    pen.beginPath();
    if (arc.row === 0) {
      pen.arc(centre.x, centre.y, radius(1), 0, kTurn);
      return;
    }
    const begin = arc.x / kUnits * kTurn - kTurn / 4;
    const end = (arc.x + arc.width) / kUnits * kTurn - kTurn / 4;
    pen.arc(centre.x, centre.y, radius(arc.row + 1) - 0.5, begin, end);
    pen.arc(centre.x, centre.y, radius(arc.row) + 0.5, end, begin, true);
    pen.closePath();
  }

  // Along the arc, or where there is more room so, along the ray through its middle; the right way up.
  function writeName(arc) {
    const angle = (arc.x + arc.width / 2) / kUnits * kTurn - kTurn / 4;
    const middle = (radius(arc.row) + radius(arc.row + 1)) / 2;
    const turn = arc.width / kUnits * kTurn;
    // A straight line bulges out of a bent ring: only as long as it does not.
    const bulge = Math.max(0, centre.ring / 2 - 7);
    const straight = Math.min(2 * middle * Math.sin(Math.min(Math.PI / 2, turn / 2)), 2 * Math.sqrt(2 * middle * bulge)) - 6;
    const isAlong = centre.ring > 13 && straight > centre.ring;
    if (!isAlong && turn * middle < 13) return;
    const text = labels.fit(names.of(arc.func), isAlong ? straight : centre.ring - 8);
    const direction = isAlong ? angle + Math.PI / 2 : angle;
    pen.save();
    pen.translate(centre.x + middle * Math.cos(angle), centre.y + middle * Math.sin(angle));
    pen.rotate(Math.cos(direction) < 0 ? direction + Math.PI : direction);
    pen.fillText(text, 0, 4);
    pen.restore();
  }

  function draw() {
    if (tree === null || centre.ring === 0) return;
    const colors = chartColors(isDark(state.get()));
    const ratio = devicePixelRatio || 1;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, frame.clientWidth, frame.clientHeight);
    pen.font = "11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
    pen.textAlign = "center";
    labels ??= createLabels(pen);
    for (const arc of arcs) {
      const own = arc.merged ? {fill: colors.merged} : look(arc);
      outline(arc);
      pen.globalAlpha = own.hatched ? 0.45 : 1;
      pen.fillStyle = own.fill;
      pen.fill();
      pen.globalAlpha = 1;
      if (arc.width > 6 || arc.row === 0) {
        pen.strokeStyle = colors.background;
        pen.lineWidth = 1;
        pen.stroke();
      }
      pen.fillStyle = own.text ?? colors.muted;
      if (!arc.merged && arc.row > 0) writeName(arc);
    }
    if (centre.ring > kRoomForNames) {
      pen.fillStyle = look({node: centre.root, func: tree.func[centre.root]}).text;
      pen.fillText(labels.fit(names.of(tree.func[centre.root]), 2 * radius(1) - 12), centre.x, centre.y);
      pen.fillText(weight(tree.total[centre.root]), centre.x, centre.y + 15);
    }
    if (hovered) {
      outline(hovered);
      pen.strokeStyle = colors.chosen;
      pen.lineWidth = 1.5;
      pen.stroke();
    }
  }

  const mainChild = (node) => {
    const [first] = tree.children(node);
    return first !== undefined && tree.total[first] >= kNearlyAll * tree.total[node] ? first : null;
  };
  function firstBranch(node) {
    for (let next = mainChild(node); next !== null; next = mainChild(node)) node = next;
    return node;
  }

  function layOut() {
    const [width, height] = [frame.clientWidth, frame.clientHeight];
    if (tree === null || Math.min(width, height) < 40) return;
    const ratio = devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const root = firstBranch(layout.nodeAt(state.get().zoom));
    const [from, to] = layout.extentOf(root);
    const above = layout.pathOf(root).length;
    const boxes = layout.boxes(from, to, kUnits).filter((box) => box.row >= above)
      .map((box) => ({...box, row: box.row - above}));
    const deepest = boxes.reduce((most, box) => Math.max(most, box.row), 0);
    const rings = Math.min(deepest, kMostRings);
    arcs = boxes.filter((box) => box.row <= rings);
    centre = {x: width / 2, y: height / 2, root,
      ring: (Math.min(width, height) / 2 - 8) / (rings + 1.6)};
    const skipped = above - state.get().zoom.length;
    status.show([skipped > 0 ? `begins ${skipped} frames from the root, where the time first divides` : "",
      deepest > rings ? `the ${rings} frames next to the centre; choose one to see further` : ""].filter(Boolean).join(" · "));
    canvas.arcs = {all: arcs, placeOf};  // for tests, and the curious at the console
    hovered = null;
    draw();
  }

  function placeOf(arc) {
    if (arc.row === 0) return {x: centre.x, y: centre.y};
    const angle = (arc.x + arc.width / 2) / kUnits * kTurn - kTurn / 4;
    const middle = (radius(arc.row) + radius(arc.row + 1)) / 2;
    return {x: centre.x + middle * Math.cos(angle), y: centre.y + middle * Math.sin(angle)};
  }

  function arcAt(event) {
    const [x, y] = [event.offsetX - centre.x, event.offsetY - centre.y];
    const distance = Math.hypot(x, y);
    const unit = (((Math.atan2(y, x) + kTurn / 4) / kTurn + 1) % 1) * kUnits;
    return arcs.find((arc) => distance < radius(arc.row + 1) &&
      (arc.row === 0 || (distance >= radius(arc.row) && unit >= arc.x && unit < arc.x + arc.width))) ?? null;
  }

  // The centre leads back out, to where the time divides.
  function open(arc) {
    let out = arc.node;
    if (arc.row === 0) do out = Math.max(0, tree.parent[out]); while (out !== 0 && mainChild(out) !== null);
    state.set({frame: layout.pathOf(arc.node), focus: arc.func < 0 ? null : arc.func, span: [0, 1], zoom: layout.pathOf(out)});
  }
  canvas.addEventListener("click", (event) => {
    const arc = arcAt(event);
    if (arc && !arc.merged) open(arc);
  });
  canvas.addEventListener("keydown", (event) => {
    const ring = arcs.filter((arc) => arc.row === 1 && !arc.merged).sort((a, b) => a.x - b.x);
    const at = ring.indexOf(hovered);
    if (event.key === "ArrowRight" || event.key === "ArrowDown") hovered = ring[(at + 1) % ring.length] ?? null;
    else if (event.key === "ArrowLeft" || event.key === "ArrowUp") hovered = ring.at(at <= 0 ? -1 : at - 1) ?? null;
    else if (event.key === "Enter" && hovered) open(hovered);
    else if (event.key === "-") open(arcs[0]);
    else return;
    event.preventDefault();
    if (hovered) state.set({frame: layout.pathOf(hovered.node), focus: hovered.func});
  });
  canvas.addEventListener("pointermove", (event) => {
    const arc = arcAt(event);
    canvas.style.cursor = arc && !arc.merged ? "pointer" : "default";
    if (arc !== hovered) {
      hovered = arc;
      draw();
    }
    tooltip.show(arc === null ? null : arc.merged ? names.merged(arc) :
      [...names.about(tree, arc.node, errorOf(arc.node), derived.all()),
      ...(arc.row === 0 ? ["the centre leads back out"] :
        [`${percent(tree.total[arc.node] / tree.total[centre.root])} of the centre`])], event);
  });
  canvas.addEventListener("pointerleave", (event) => tooltip.show(null, event));
  const frameOf = (arc) => arc && !arc.merged && {func: arc.func, path: layout.pathOf(arc.node), ...placeOf(arc)};
  menu.listenOn(canvas, (event) => frameOf(arcAt(event)), () => frameOf(hovered));
  new ResizeObserver(beforeNextFrame(layOut)).observe(frame);

  return {
    redraw() {
      const {inverted} = state.get();
      if (derived.tree(inverted) !== tree) {
        tree = derived.tree(inverted);
        layout = treeLayout(tree, null);
      }
      look = painter.ofTree(tree, {inverted});
      const kept = hovered;
      layOut();
      hovered = kept && (arcs.find((arc) => arc.node === kept.node && arc.merged === kept.merged) ?? null);
      draw();
    },
  };
}
