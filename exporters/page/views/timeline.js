// What threads did over time, above the views: CPU use of all that are shown, then sections and counters,
// and a row per thread, with its spans and events. Dragging over it, a click on a span, or the keyboard
// chooses a range of time.

import {activity} from "../data/activity.js";
import {beforeNextFrame, h} from "../dom.js";
import {count, duration} from "../format.js";
import {listenToRange} from "./range_input.js";
import {isDark} from "./painter.js";
import {createMarkers} from "./timeline_markers.js";
import {drawActivity, drawAxis, drawRange, timelineColors} from "./timeline_paint.js";
import {createRows, kRowHeight, rowAt} from "./timeline_rows.js";

const kLabelWidth = 120;
const kAxisHeight = 18;
const kOverviewHeight = 40;
const kSlicePixels = 2;
const kHeadHeight = kAxisHeight + kOverviewHeight;

/**
 * @param {HTMLElement} element
 * @param {import("../data/profile.js").Profile} profile
 * @param {ReturnType<import("../state.js").createState>} state
 */
export function create(element, profile, state, {derived, tooltip, signal}) {
  const {durationNs} = profile.meta;
  const allRows = createRows(profile);
  const canvas = h("canvas", {tabindex: 0, role: "application", "aria-roledescription": "timeline",
    "aria-keyshortcuts": "ArrowLeft ArrowRight Shift+ArrowLeft Shift+ArrowRight Home End Escape"});
  const floor = h("div", {class: "timeline-floor"}, canvas);
  const scroller = h("div", {class: `timeline-rows${allRows.hasMarkers ? " tall" : ""}`}, floor);
  const said = h("span", {role: "status"});
  const clear = h("button", {type: "button", class: "link", "data-action": "all-time",
    onclick: () => setRange(null)}, "All time");
  element.append(scroller, h("div", {class: "timeline-said"}, said, clear));
  const context = canvas.getContext("2d");
  const markers = createMarkers(context, profile);

  let width = 0;
  let height = 0;
  let rows = [];
  let shownThreads;         // the selection's, that `overview` is of
  let overview = null;
  let ofThread = new Map(); // activity, of the width that is drawn

  const slices = () => Math.max(1, Math.floor((width - kLabelWidth) / kSlicePixels));
  const xOf = (ns) => kLabelWidth + (width - kLabelWidth) * ns / (durationNs || 1);
  const timeAt = (x) => Math.max(0, Math.min(1, (x - kLabelWidth) / (width - kLabelWidth))) * durationNs;

  function range() {
    const {fromNs, toNs} = state.get().selection;
    return fromNs > 0 || toNs < Infinity ? [fromNs, Math.min(toNs, durationNs)] : null;
  }

  function setRange(next) {
    const [fromNs, toNs] = next ?? [0, Infinity];
    const whole = fromNs <= 0 && toNs >= durationNs;
    state.set({selection: {...state.get().selection, fromNs: Math.round(fromNs),
      toNs: whole || toNs >= durationNs ? Infinity : Math.round(toNs)}});
  }

  function threadActivity(thread) {
    if (!ofThread.has(thread)) ofThread.set(thread, activity(profile, [thread], slices()));
    return ofThread.get(thread);
  }

  function drawRow(row, top, how) {
    context.fillStyle = how.colors.text;
    context.save();
    context.beginPath();
    context.rect(0, top, kLabelWidth - 6, row.height);
    context.clip();
    context.fillText(row.label, 6, top + 15);
    context.restore();
    markers.draw(row, top, how);
    if (row.kind !== "thread") return;
    drawActivity(context, how.colors, threadActivity(row.thread), 1, {left: kLabelWidth,
      top: top + row.height - kRowHeight, height: kRowHeight - 2, step: (width - kLabelWidth) / slices()});
  }

  function draw() {
    if (width === 0) return;
    const ratio = devicePixelRatio || 1;
    const dark = isDark(state.get());
    const colors = timelineColors(dark);
    const offset = scroller.scrollTop;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    const how = {colors, dark, xOf, right: width, matches: derived.found().markers?.matches ?? null};
    for (let i = rows.indexOf(rowAt(rows, offset)); i >= 0 && i < rows.length; ++i) {
      const top = kHeadHeight + rows[i].top - offset;
      if (top > height) break;
      drawRow(rows[i], top, how);
    }
    context.fillStyle = colors.background;
    context.fillRect(0, 0, width, kHeadHeight);
    drawAxis(context, colors, durationNs, {left: kLabelWidth, width, height: kAxisHeight});
    let most = 1;
    for (let i = 0; i < overview.cpu.length; ++i) most = Math.max(most, overview.cpu[i]);
    context.fillStyle = colors.muted;
    context.fillText(`${most.toFixed(1)} CPUs`, 6, kAxisHeight + 14);
    drawActivity(context, colors, {cpu: overview.cpu, waiting: null}, most,
      {left: kLabelWidth, top: kAxisHeight, height: kOverviewHeight - 4, step: (width - kLabelWidth) / slices()});
    const chosen = range();
    if (chosen) drawRange(context, colors, xOf(chosen[0]), xOf(chosen[1]), {left: kLabelWidth, width, height});
  }

  function layOut() {
    width = scroller.clientWidth;
    height = scroller.clientHeight;
    if (width === 0) return;
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    if (overview?.cpu.length !== slices()) {
      overview = activity(profile, shownThreads, slices());
      ofThread = new Map();
    }
    draw();
  }

  // The row there, and its marker if there is one.
  function under(x, y) {
    const below = y - kHeadHeight + scroller.scrollTop;
    const row = y < kHeadHeight ? undefined : rowAt(rows, below);
    if (row === undefined || x < kLabelWidth) return {row, marker: null};
    return {row, marker: markers.at(row, below - row.top, timeAt(x), durationNs / (width - kLabelWidth))};
  }
  canvas.addEventListener("pointermove", (event) => {
    const marker = event.buttons === 0 ? under(event.offsetX, event.offsetY).marker : null;
    tooltip.show(marker?.lines ?? null, event);
  });
  canvas.addEventListener("pointerleave", () => tooltip.show(null));

  const redraw = beforeNextFrame(draw);
  scroller.addEventListener("scroll", redraw);
  new ResizeObserver(beforeNextFrame(layOut)).observe(scroller);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw, {signal});

  const timeline = {
    canvas, range, setRange, durationNs, timeAt, xOf,
    isInRows: (x) => x >= kLabelWidth,
    /** A click that drags nothing: the time of the marker there is chosen, or the thread. */
    choose(x, y) {
      const {row, marker} = under(x, y);
      if (marker?.range) setRange(marker.range);
      else if (row?.thread !== undefined) state.set({selection: {...state.get().selection, threads: new Set([row.thread])}});
    },
    /** Where a row and its markers are: for tests. */
    rows: () => rows.map((row) => ({...row, y: kHeadHeight + row.top - scroller.scrollTop})),
  };
  canvas.timeline = timeline;  // for tests, and the curious at the console
  listenToRange(timeline);

  return {
    redraw() {
      const {selection} = state.get();
      if (overview === null || selection.threads !== shownThreads) {
        shownThreads = selection.threads;
        const placed = allRows.of([...(shownThreads ?? profile.threads.keys())].sort((a, b) => a - b));
        rows = placed.rows;
        floor.style.height = `${kHeadHeight + placed.height + 2}px`;
        overview = null;
      }
      const chosen = range();
      said.textContent = chosen
        ? `${duration(chosen[0])} to ${duration(chosen[1])}: ${duration(chosen[1] - chosen[0])}`
        : `${duration(durationNs)}. Drag to look at a part`;
      if (allRows.hidden > 0) said.textContent += `. ${count(allRows.hidden)} spans or sections overlap too many others to be drawn`;
      clear.hidden = chosen === null;
      canvas.setAttribute("aria-label", `Timeline. ${said.textContent}`);
      layOut();
    },
  };
}
