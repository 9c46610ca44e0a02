// A range of time, by mouse, touch and keyboard.
//
// Dragging makes a new range; dragging an end moves that end. Arrows move the range, with Shift its
// end; where there is none, the first arrow makes one. The wheel and the keys + - a d zoom and move what is
// seen; over the names, and where rows scroll, the wheel alone scrolls them.

const kDragPixels = 4;   // less is a click
const kEndPixels = 6;    // how near an end is taken for it
const kWheelZoom = 0.0022;
const kLinePixels = 20;
const kKeyZoom = 1.6;
const kKeyMove = 0.2;    // of what is seen
const kKeySteps = 100;   // of the whole time
const kFirstRange = 0.1; // of the whole time

/** @param {object} timeline see timeline.js */
export function listenToRange(timeline) {
  const {canvas, durationNs} = timeline;
  let drag = null;  // {x, fixed}: where it began, and the time that stays

  const nearEnd = (x) => {
    const range = timeline.range();
    if (!range) return null;
    if (Math.abs(timeline.xOf(range[0]) - x) <= kEndPixels) return range[1];
    if (Math.abs(timeline.xOf(range[1]) - x) <= kEndPixels) return range[0];
    return null;
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const fixed = nearEnd(event.offsetX);
    drag = {x: event.offsetX, moved: fixed !== null, fixed: fixed ?? timeline.timeAt(event.offsetX)};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    canvas.style.cursor = nearEnd(event.offsetX) !== null ? "ew-resize" : "crosshair";
    if (drag === null) return;
    drag.moved ||= Math.abs(event.offsetX - drag.x) >= kDragPixels;
    if (!drag.moved) return;
    const time = timeline.timeAt(event.offsetX);
    if (time !== drag.fixed) timeline.setRange([Math.min(time, drag.fixed), Math.max(time, drag.fixed)]);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag !== null && !drag.moved) timeline.choose(event.offsetX, event.offsetY, event);
    drag = null;
  });
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("dblclick", () => {
    timeline.setRange(null);
    timeline.zoom(0, 0.5);
  });

  canvas.addEventListener("wheel", (event) => {
    const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
    if (!isSideways && !event.ctrlKey && !event.metaKey && timeline.scrolls(event.offsetY)) return;
    event.preventDefault();
    if (isSideways) return timeline.move((event.deltaX || event.deltaY) / timeline.width());
    const speed = event.deltaMode === 1 ? kLinePixels : 1;
    timeline.zoom(Math.exp(-event.deltaY * speed * kWheelZoom), event.offsetX / timeline.width());
  }, {passive: false});

  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const zoom = {"+": kKeyZoom, "=": kKeyZoom, w: kKeyZoom, "-": 1 / kKeyZoom, s: 1 / kKeyZoom}[event.key];
    const move = {a: -kKeyMove, d: kKeyMove}[event.key];
    const range = timeline.range();
    if (event.key === "Escape" && range) {
      timeline.setRange(null);
    } else if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) {
      timeline.setRange(moved(range, event.key, event.shiftKey));
    } else if (zoom) {
      timeline.zoom(zoom, 0.5);
    } else if (move) {
      timeline.move(move);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });

  function moved(range, key, onlyEnd) {
    if (!range) return [0, kFirstRange * durationNs];
    const [from, to] = range;
    const step = {ArrowLeft: -1, ArrowRight: 1, Home: -kKeySteps, End: kKeySteps}[key] * durationNs / kKeySteps;
    if (onlyEnd) {
      const least = Math.min(durationNs, from + durationNs / kKeySteps);
      return [from, Math.max(least, Math.min(durationNs, to + step))];
    }
    const by = Math.max(-from, Math.min(durationNs - to, step));
    return [from + by, to + by];
  }
}
