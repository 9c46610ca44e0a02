// A range of time, by mouse, touch and keyboard.
//
// Dragging makes a new range; dragging an end moves that end. Arrows move the range, with Shift its
// end; where there is none, the first arrow makes one.

const kDragPixels = 4;   // less is a click
const kEndPixels = 6;    // how near an end is taken for it
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
    if (timeline.isInRows(event.offsetX)) canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    canvas.style.cursor = nearEnd(event.offsetX) !== null ? "ew-resize"
      : timeline.isInRows(event.offsetX) ? "crosshair" : "pointer";
    if (drag === null || !timeline.isInRows(drag.x)) return;
    drag.moved ||= Math.abs(event.offsetX - drag.x) >= kDragPixels;
    if (!drag.moved) return;
    const time = timeline.timeAt(event.offsetX);
    if (time !== drag.fixed) timeline.setRange([Math.min(time, drag.fixed), Math.max(time, drag.fixed)]);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag !== null && !drag.moved) timeline.choose(event.offsetX, event.offsetY);
    drag = null;
  });
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("dblclick", () => timeline.setRange(null));

  canvas.addEventListener("keydown", (event) => {
    const range = timeline.range();
    if (event.key === "Escape" && range) {
      timeline.setRange(null);
    } else if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) {
      timeline.setRange(moved(range, event.key, event.shiftKey));
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
