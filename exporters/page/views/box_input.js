// Pointer, wheel and keys on a chart of boxes.

const kClickPixels = 4;  // a press that moves further is a drag
const kWheelZoom = 0.0022;
const kKeyZoom = 1.6;
const kKeyMove = 0.2;  // of what is seen
const kNarrowest = 1e-9;  // of a range: what a double can still tell apart

/** The range [from, to] zoomed by `factor` about `at`, a share of what is seen; within [0, 1]. */
export function zoomed([from, to], factor, at) {
  const width = Math.min(1, Math.max(kNarrowest, (to - from) / factor));
  const begin = Math.min(1 - width, Math.max(0, from + at * (to - from - width)));
  return [begin, begin + width];
}

/** Moved by a share of what is seen. */
export function moved([from, to], by) {
  const begin = Math.min(1 - (to - from), Math.max(0, from + by * (to - from)));
  return [begin, begin + to - from];
}

/** The box that a key leads to. */
export function neighbour(boxes, box, direction) {
  const middle = box.x + box.width / 2;
  const sameRow = (row) => boxes.filter((other) => !other.merged && other.row === row)
    .sort((a, b) => a.x - b.x);
  if (direction === "left") return sameRow(box.row).findLast((other) => other.x < box.x);
  if (direction === "right") return sameRow(box.row).find((other) => other.x > box.x);
  const row = sameRow(box.row + (direction === "in" ? 1 : -1));
  if (direction === "out") return row.find((other) => other.x <= middle && other.x + other.width >= middle);
  return row.filter((other) => other.x + 0.5 >= box.x && other.x < box.x + box.width)
    .sort((a, b) => b.width - a.width)[0];
}

// The box that keys choose first: the widest below the root.
function first(boxes) {
  return boxes.filter((box) => !box.merged && box.row === 1).sort((a, b) => b.width - a.width)[0];
}

/**
 * @param {object} chart
 * @param {object} handlers
 * @param {(box: object) => void} [handlers.onChoose] by a click that does not zoom, or by keys
 * @param {(box: object) => void} [handlers.onZoom] to the box, which is chosen by that
 * @param {(range: [number, number]) => void} [handlers.onRange]
 * @param {(box: object|null, event: PointerEvent) => void} [handlers.onHover]
 * @param {boolean} [handlers.clickZooms]
 * @param {object} handlers.menu see frame_menu.js
 * @param {(box: object) => number[]} handlers.pathOf a box, for the menu
 */
export function listenToBoxes(chart, {onChoose, onZoom, onRange, onHover, clickZooms = true, menu, pathOf}) {
  const {canvas, scroller} = chart;
  let press = null;
  let firstHit = null;  // the box of a click that another may follow
  const under = (event) => chart.boxAt(event.offsetX, event.offsetY);

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    press = {x: event.clientX, y: event.clientY, range: chart.range(), top: scroller.scrollTop, drags: false};
  });
  canvas.addEventListener("pointermove", (event) => {
    if (press === null || event.buttons === 0) {
      const box = under(event);
      chart.hover(box);
      canvas.style.cursor = box && !box.merged ? "pointer" : "default";
      onHover?.(box, event);
      return;
    }
    const x = event.clientX - press.x;
    const y = event.clientY - press.y;
    if (!press.drags && Math.hypot(x, y) < kClickPixels) return;
    if (!press.drags) canvas.setPointerCapture(event.pointerId);
    press.drags = true;
    canvas.style.cursor = "grabbing";
    onHover?.(null, event);
    scroller.scrollTop = press.top - y;
    onRange?.(moved(press.range, -x / chart.width()));
  });
  canvas.addEventListener("pointerup", (event) => {
    const clicked = press !== null && !press.drags;
    press = null;
    const box = under(event);
    if (!clicked || box === null || box.merged) return;
    onHover?.(null, event);
    if (clickZooms) return onZoom?.(box);
    if (event.detail < 2) firstHit = box;
    onChoose?.(box);
  });
  // The box of its first click: what that opened may have moved the boxes.
  canvas.addEventListener("dblclick", () => {
    if (!clickZooms && firstHit !== null) onZoom?.(firstHit);
  });
  const frameOf = (box) => box && !box.merged && {func: box.func, path: pathOf(box), ...chart.placeOf(box)};
  menu.listenOn(canvas, (event) => frameOf(under(event)), () => frameOf(chart.chosen()));
  canvas.addEventListener("pointerleave", (event) => {
    chart.hover(null);
    onHover?.(null, event);
  });

  // The wheel scrolls where there is something to scroll, and zooms with Ctrl or where there is not.
  canvas.addEventListener("wheel", (event) => {
    if (!onRange) return;
    const scrolls = scroller.scrollHeight > scroller.clientHeight + 1;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
      event.preventDefault();
      onRange(moved(chart.range(), (event.deltaX || event.deltaY) / chart.width()));
    } else if (event.ctrlKey || event.metaKey || !scrolls) {
      event.preventDefault();
      const speed = event.deltaMode === 1 ? 20 : 1;  // lines, pixels
      onRange(zoomed(chart.range(), Math.exp(-event.deltaY * speed * kWheelZoom),
        event.offsetX / chart.width()));
    }
    onHover?.(null, event);
  }, {passive: false});

  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const up = chart.rootAtBottom() ? "in" : "out";
    const step = {ArrowUp: up, ArrowDown: up === "in" ? "out" : "in", ArrowLeft: "left",
      ArrowRight: "right"}[event.key];
    const [zoomIn, zoomOut] = [kKeyZoom, 1 / kKeyZoom].map((factor) => () => zoomed(chart.range(), factor, 0.5));
    const range = {"+": zoomIn, "=": zoomIn, w: zoomIn, "-": zoomOut, s: zoomOut,
      a: () => moved(chart.range(), -kKeyMove), d: () => moved(chart.range(), kKeyMove)}[event.key];
    const chosen = chart.chosen();
    if (step) {
      const next = chosen ? neighbour(chart.boxes(), chosen, step) : first(chart.boxes());
      if (next) {
        onChoose?.(next);
        chart.reveal(next);
      }
    } else if (event.key === "Enter" && chosen) {
      onZoom?.(chosen);
    } else if (range && onRange) {
      onRange(range());
    } else {
      return;
    }
    event.preventDefault();
  });
}
