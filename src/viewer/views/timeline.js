// What threads did over time, above the views: CPU use of all that are shown, then a row per thread.
// Dragging over it, or the keyboard, chooses a range of time.

import {activity} from "../data/activity.js";
import {beforeNextFrame, h} from "../dom.js";
import {duration} from "../format.js";
import {listenToRange} from "./range_input.js";
import {isDark} from "./painter.js";
import {drawActivity, drawAxis, drawRange, timelineColors} from "./timeline_paint.js";

const kLabelWidth = 120;
const kAxisHeight = 18;
const kOverviewHeight = 40;
const kRowHeight = 22;
const kSlicePixels = 2;
const kHeadHeight = kAxisHeight + kOverviewHeight;

/**
 * @param {HTMLElement} element
 * @param {import("../data/profile.js").Profile} profile
 * @param {ReturnType<import("../state.js").createState>} state
 */
export function create(element, profile, state) {
  const {durationNs} = profile.meta;
  const canvas = h("canvas", {tabindex: 0, role: "application", "aria-roledescription": "timeline",
    "aria-keyshortcuts": "ArrowLeft ArrowRight Shift+ArrowLeft Shift+ArrowRight Home End Escape"});
  const floor = h("div", {class: "timeline-floor"}, canvas);
  const scroller = h("div", {class: "timeline-rows"}, floor);
  const said = h("span", {role: "status"});
  const clear = h("button", {type: "button", class: "link", "data-action": "all-time",
    onclick: () => setRange(null)}, "All time");
  element.append(scroller, h("div", {class: "timeline-said"}, said, clear));
  const context = canvas.getContext("2d");

  let width = 0;
  let height = 0;
  let threads = [];         // of the rows
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

  function drawRow(colors, thread, top) {
    const {name, tid} = profile.threads[thread];
    context.fillStyle = colors.text;
    context.save();
    context.beginPath();
    context.rect(0, top, kLabelWidth - 6, kRowHeight);
    context.clip();
    context.fillText(name || `tid ${tid}`, 6, top + 15);
    context.restore();
    drawActivity(context, colors, threadActivity(thread), 1,
      {left: kLabelWidth, top, height: kRowHeight - 2, step: (width - kLabelWidth) / slices()});
  }

  function draw() {
    if (width === 0) return;
    const ratio = devicePixelRatio || 1;
    const colors = timelineColors(isDark(state.get()));
    const offset = scroller.scrollTop;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    const first = Math.floor(offset / kRowHeight);
    for (let i = first; i < threads.length; ++i) {
      const top = kHeadHeight + i * kRowHeight - offset;
      if (top > height) break;
      drawRow(colors, threads[i], top);
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

  const redraw = beforeNextFrame(draw);
  scroller.addEventListener("scroll", redraw);
  new ResizeObserver(beforeNextFrame(layOut)).observe(scroller);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  const timeline = {
    canvas, range, setRange, durationNs, timeAt, xOf,
    isInRows: (x) => x >= kLabelWidth,
    /** A click that drags nothing: the thread there is chosen. */
    choose(x, y) {
      const thread = y < kHeadHeight ? undefined : threads[Math.floor((y - kHeadHeight + scroller.scrollTop) / kRowHeight)];
      if (thread !== undefined) state.set({selection: {...state.get().selection, threads: new Set([thread])}});
    },
  };
  canvas.timeline = timeline;  // for tests, and the curious at the console
  listenToRange(timeline);

  return {
    redraw() {
      const {selection} = state.get();
      if (overview === null || selection.threads !== shownThreads) {
        shownThreads = selection.threads;
        threads = [...(shownThreads ?? profile.threads.keys())].sort((a, b) => a - b);
        floor.style.height = `${kHeadHeight + threads.length * kRowHeight + 2}px`;
        overview = null;
      }
      const chosen = range();
      said.textContent = chosen
        ? `${duration(chosen[0])} to ${duration(chosen[1])}: ${duration(chosen[1] - chosen[0])}`
        : `${duration(durationNs)}. Drag to look at a part`;
      clear.hidden = chosen === null;
      canvas.setAttribute("aria-label", `Timeline. ${said.textContent}`);
      layOut();
    },
  };
}
