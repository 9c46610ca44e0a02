// Threads and tracks, above the views: one list, names at the left, what each did over time beside
// them. At the top, the CPUs that all chosen threads used, or how many of them waited for locks. Dragging, a
// click on a span, or the keyboard chooses a range of time; the wheel zooms into it.

import {cpuScale, createActivities, mostOf} from "../data/activity.js";
import {trackKinds} from "../data/kinds.js";
import {hasLocks} from "../data/locks.js";
import {beforeNextFrame, h} from "../dom.js";
import {count, counted, weight} from "../format.js";
import {moved, zoomed} from "./box_input.js";
import {isDark} from "./painter.js";
import {listenToRange} from "./range_input.js";
import {createThreadList} from "./threads.js";
import {createMarkers} from "./timeline_markers.js";
import {drawActivity, drawAxis, drawCpus, drawRange, timelineColors} from "./timeline_paint.js";
import {createRows, kRowHeight, rowIndexAt} from "./timeline_rows.js";

const kAxisHeight = 18;
const kOverviewHeight = 44;
const kSlicePixels = 2;
const kHeadHeight = kAxisHeight + kOverviewHeight;
const kPale = 0.35;  // threads that are not chosen

/**
 * @param {HTMLElement} element
 * @param {import("../data/profile.js").Profile} profile
 * @param {ReturnType<import("../state.js").createState>} state
 */
export function create(element, profile, state, {derived, tooltip, signal}) {
  const {durationNs, hasTimes} = profile.meta;
  const allRows = createRows(profile);
  const canvas = h("canvas", {tabindex: 0, role: "application", "aria-roledescription": "timeline", "aria-label": "Timeline",
    "aria-keyshortcuts": "ArrowLeft ArrowRight Shift+ArrowLeft Shift+ArrowRight Home End Escape + - a d"});
  const list = h("aside", {id: "threads", "aria-label": "Threads"});
  const sticky = h("div", {class: "tracks"}, list, h("div", {class: `tracks-time${hasTimes ? "" : " timeless"}`}, hasTimes ? null : h("p", {class: "hint"}, "The samples have no times."), canvas));
  const floor = h("div", {class: "timeline-floor"}, sticky);
  const scroller = h("div", {class: "timeline-rows"}, floor);
  const by = h("select", {"aria-label": "Colour tracks by", onchange: () => state.set({trackBy: by.value})},
    h("option", {value: "state"}, "by state"), h("option", {value: "module"}, "by library"));
  element.append(scroller);
  const context = canvas.getContext("2d");
  const markers = createMarkers(context, profile);
  const activities = createActivities(profile);

  let width = 0;
  let height = 0;
  let rows = [];
  let kinds = null;
  let colorsOf = {dark: null, list: []};
  let chosenKey = "";       // of the selected threads
  let chosenThreads = null;

  const slices = () => Math.max(1, Math.floor(width / kSlicePixels));
  const seen = () => {
    const [from, to] = state.get().seen;
    return [from, Math.min(to, durationNs || 1)];
  };
  const xOf = (ns) => width * (ns - seen()[0]) / (seen()[1] - seen()[0]);
  const timeAt = (x) => {
    const [from, to] = seen();
    return from + Math.max(0, Math.min(1, x / width)) * (to - from);
  };

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

  // What is seen, as shares of all of the time.
  function setSeen([from, to]) {
    state.set({seen: [from <= 0 ? 0 : from * durationNs, to >= 1 ? Infinity : to * durationNs]});
  }
  const seenShares = () => seen().map((ns) => ns / (durationNs || 1));

  const activityOf = (key, threads) => activities.get(key, threads, slices(), kinds, seen());
  // Where the samples are waits for locks, nothing is on CPU.
  const inHead = (parts) => hasLocks(profile) ? parts : parts.slice(0, kinds.onCpu);
  // Both sides of a comparison are drawn together.
  function scaleOf(parts) {
    const shown = inHead(parts);
    if (hasLocks(profile)) {
      const threads = Math.max(1, Math.ceil(mostOf(shown) - 0.05));
      return {cpus: threads, text: counted(threads, "waiting thread")};
    }
    if (profile.meta.unit === "") return cpuScale(shown, profile.meta.diff ? null : profile.meta.cpus ?? null);
    const most = mostOf(shown);
    return {cpus: null, most, text: `${weight(1e9 * most)}/s`};
  }

  function drawRow(row, top, how) {
    const {threads} = state.get().selection;
    const isPale = threads !== null && row.threads.length > 0 && !row.threads.some((thread) => threads.has(thread));
    context.globalAlpha = isPale ? kPale : 1;
    markers.draw(row, top, how);
    if (row.threads.length !== 0) {
      const place = {left: 0, top: top + row.height - kRowHeight, height: kRowHeight - 2, step: kSlicePixels};
      const parts = activityOf(row.key, row.threads);
      // Many threads share few CPUs: what they used fills the row, and their waits what is left of it.
      const {cpus, most} = scaleOf(parts);
      drawActivity(context, how.fills, parts, cpus === null ? most : Math.min(row.threads.length, cpus), place);
      context.fillStyle = how.colors.line;
      context.fillRect(0, place.top + place.height, width, 1);
    }
    context.globalAlpha = 1;
  }

  function drawHead(how) {
    const {colors} = how;
    context.fillStyle = colors.background;
    context.fillRect(0, 0, width, kHeadHeight);
    drawAxis(context, colors, seen(), {width, height: kAxisHeight});
    const parts = activityOf(chosenKey, chosenThreads);
    const {cpus, most, text} = scaleOf(parts);
    const place = {left: 0, top: kAxisHeight, height: kOverviewHeight - 4, step: kSlicePixels};
    drawActivity(context, how.fills, inHead(parts), cpus ?? most, place);
    drawCpus(context, colors, cpus ?? 1, text, {...place, width});
    canvas.setAttribute("aria-description", `scale: ${text}`);
  }

  function draw() {
    if (width === 0 || kinds === null) return;
    const ratio = devicePixelRatio || 1;
    const dark = isDark(state.get());
    if (colorsOf.dark !== dark || colorsOf.kinds !== kinds) colorsOf = {dark, kinds, list: kinds.colors(dark)};
    const colors = timelineColors(dark);
    const offset = scroller.scrollTop;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    const how = {colors, fills: colorsOf.list, dark, xOf, right: width, seen: seen(),
      matches: derived.found().markers?.matches ?? null};
    for (let i = rowIndexAt(rows, offset); i < rows.length; ++i) {
      const top = kHeadHeight + rows[i].top - offset;
      if (top > height) break;
      drawRow(rows[i], top, how);
    }
    drawHead(how);
    const chosen = range();
    if (chosen) drawRange(context, colors, xOf(chosen[0]), xOf(chosen[1]), {width, height});
  }

  function layOut() {
    width = canvas.parentElement.clientWidth;
    height = scroller.clientHeight;
    if (width === 0) return;
    sticky.style.height = `${height}px`;
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    draw();
    threadList.draw();
  }

  // The row there, and its marker if there is one.
  function under(x, y) {
    const below = y - kHeadHeight + scroller.scrollTop;
    const index = y < kHeadHeight ? -1 : rowIndexAt(rows, below);
    const row = rows[index];
    return {index, row, marker: row ? markers.at(row, below - row.top, timeAt(x), (seen()[1] - seen()[0]) / width) : null};
  }
  function linesUnder(x, y) {
    const {row, marker} = under(x, y);
    if (marker) return marker.lines;
    if (!row || row.threads.length === 0) return null;
    const parts = activityOf(row.key, row.threads);
    const slice = Math.min(slices() - 1, Math.floor(x / kSlicePixels));
    const isTime = profile.meta.unit === "";
    const there = parts.map((part, kind) => [part[slice], kinds.labels[kind]]).filter(([value]) => value > (isTime ? 0.005 : 0))
      .sort((a, b) => b[0] - a[0]).slice(0, 4);
    if (there.length === 0) return null;
    if (!isTime) return [row.label, ...there.map(([value, label]) => `${label}: ${weight(1e9 * value)}/s`), `the row's height is ${scaleOf(parts).text}`];
    const most = row.threads.length;
    return [row.label, ...there.map(([value, label]) =>
      `${label}: ${most === 1 ? `${Math.round(100 * Math.min(1, value))} %` : `${value.toFixed(1)} of ${most} threads`}`),
    ...(most === 1 ? [] : [`the row's height is ${scaleOf(parts).text}`])];
  }
  canvas.addEventListener("pointermove", (event) => {
    tooltip.show(event.buttons === 0 ? linesUnder(event.offsetX, event.offsetY) : null, event);
  });
  canvas.addEventListener("pointerleave", () => tooltip.show(null));

  const redraw = beforeNextFrame(() => {
    draw();
    threadList.draw();
  });
  scroller.addEventListener("scroll", redraw);
  new ResizeObserver(beforeNextFrame(layOut)).observe(scroller);

  const timeline = {
    canvas, range, setRange, durationNs, timeAt, xOf,
    scrolls: (y) => y >= kHeadHeight && scroller.scrollHeight > scroller.clientHeight + 1,
    width: () => width,
    zoom: (factor, at) => setSeen(zoomed(seenShares(), factor, at)),
    move: (by) => setSeen(moved(seenShares(), by)),
    /** A click that drags nothing: the marker's time and thread are chosen, or the thread. */
    choose(x, y, event) {
      const {index, row, marker} = under(x, y);
      if (marker?.range) {
        setRange(marker.range);
        if (row.thread !== undefined) state.set({selection: {...state.get().selection, threads: new Set([row.thread])}});
      } else if (row) {
        threadList.takeRow(index, event);
      }
    },
    /** Where a row and its markers are: for tests. */
    rows: () => rows.map((row) => ({...row, y: kHeadHeight + row.top - scroller.scrollTop})),
  };
  canvas.timeline = timeline;  // for tests, and the curious at the console
  listenToRange(timeline);

  const threadList = createThreadList(list, profile, state, {rows: allRows, scroller, head: kHeadHeight, tool: by,
    onRows(placed) {
      rows = placed.rows;
      floor.style.height = `${kHeadHeight + placed.height + 2}px`;
      element.style.setProperty("--content", `${kHeadHeight + placed.height + 2}px`);
      layOut();
    }});

  return {
    hidden: allRows.hidden === 0 ? "" : `${count(allRows.hidden)} spans or sections overlap too many others to be drawn`,
    redraw() {
      const {selection, trackBy} = state.get();
      by.value = trackBy;
      if (kinds?.name !== trackBy) kinds = trackKinds(profile, trackBy);
      if (chosenKey === "" || selection.threads !== chosenThreads) {
        chosenThreads = selection.threads;
        chosenKey = chosenThreads === null ? "all" : `chosen ${[...chosenThreads].join(" ")}`;
      }
      threadList.redraw();
      if (width === 0) layOut();
      else draw();
    },
  };
}
