// How markers look in the timeline, and which one is under the pointer.

import {hueOf, oklch, theme} from "../data/color.js";
import {intervalAt, momentAt, valueAt} from "../data/markers.js";
import {duration} from "../format.js";
import {createLabels} from "./label.js";
import {kEventHeight, kLaneHeight, kNoName} from "./timeline_rows.js";

const kReachPixels = 3;  // how near a marker is taken for it
const kClosed = ["", "closed by the end of its thread", "closed by the end of its process",
  "closed by the end of the segment"];

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("../data/profile.js").Profile} profile
 */
export function createMarkers(context, profile) {
  const {markers: {texts, spans, sections, events, counters}, threads} = profile;
  const nameOf = (text) => texts[text] || kNoName;
  let labels = null;
  const tableOf = (row) => row.kind === "sections" ? sections : spans;
  const eventsTop = (row) => (row.lanes?.count ?? 0) * kLaneHeight;

  function fillOf(dark, matches) {
    const {box, match, faint} = theme(dark);
    return (name, text) => !matches ? oklch(...box, hueOf(name))
      : oklch(...(matches[name] || matches[text]) ? match : [...faint, 80]);
  }

  function drawIntervals(row, top, {xOf, dark, matches, right: edge, seen: [fromNs, toNs]}) {
    const {beginNs, durationNs, name, text} = tableOf(row);
    const fill = fillOf(dark, matches);
    const drawnTo = new Float64Array(row.lanes.count).fill(-1);
    labels ??= createLabels(context);
    row.lanes.rows.forEach((interval, i) => {
      const lane = row.lanes.lane[i];
      if (lane < 0 || beginNs[interval] > toNs || beginNs[interval] + durationNs[interval] < fromNs) return;
      const left = Math.max(0, xOf(beginNs[interval]));
      const right = Math.min(edge, Math.max(left + 1, xOf(beginNs[interval] + durationNs[interval])));
      const found = matches && (matches[name[interval]] || matches[text?.[interval]]);
      if (right <= drawnTo[lane] + 0.5 && !found) return;  // would be in a pixel that has one
      drawnTo[lane] = right;
      const y = top + lane * kLaneHeight;
      context.fillStyle = fill(name[interval], text?.[interval]);
      context.fillRect(left, y, Math.max(1, right - left - (right - left > 3 ? 1 : 0)), kLaneHeight - 1);
      const label = labels.fit(nameOf(name[interval]), right - left - 6);
      if (label === "") return;
      context.fillStyle = theme(dark).text;
      context.fillText(label, left + 3, y + kLaneHeight - 4);
    });
  }

  function drawEvents(row, top, {xOf, dark, matches, colors}) {
    let drawnTo = -1;
    for (const event of row.events) {
      const x = Math.round(xOf(events.timeNs[event]));
      const found = matches && (matches[events.name[event]] || matches[events.text[event]]);
      if (x <= drawnTo && !found) continue;
      drawnTo = x;
      context.fillStyle = matches ? fillOf(dark, matches)(events.name[event], events.text[event]) : colors.event;
      context.fillRect(x - 1, top, 2, kEventHeight - 2);
    }
  }

  // A step line, filled from zero.
  function drawCounter({counter: {rows, least, most}, height}, top, {xOf, colors, right}) {
    const scale = (height - 4) / (most - least || 1);
    const yOf = (value) => top + height - 2 - (value - least) * scale;
    context.fillStyle = colors.counter;
    for (let i = 0; i < rows.length; ++i) {
      const from = Math.max(0, xOf(counters.timeNs[rows[i]]));
      const to = Math.min(right, i + 1 < rows.length ? xOf(counters.timeNs[rows[i + 1]]) : right);
      if (to < 0 || from > right) continue;
      const [y, zero] = [yOf(counters.value[rows[i]]), yOf(0)];
      context.fillRect(from, Math.min(y, zero), Math.max(to - from, 0.5), Math.max(1, Math.abs(zero - y)));
    }
    context.fillStyle = colors.line;
    context.fillRect(0, top + height - 1, right, 1);
  }

  const linesOfInterval = (table, row, more) => [nameOf(table.name[row]),
    `${duration(table.durationNs[row])}, from ${duration(table.beginNs[row])}`, ...more,
    kClosed[table.closed[row]], "Click: look at its time and thread"].filter((line) => line !== "");

  return {
    /** The markers of a row, above what its thread did. */
    draw(row, top, how) {
      context.font = "10px system-ui, sans-serif";
      if (row.kind === "counter") drawCounter(row, top, how);
      if (row.lanes) drawIntervals(row, top, how);
      drawEvents(row, top + eventsTop(row), how);
      context.font = "12px system-ui, sans-serif";
    },
    /**
     * @param {import("./timeline_rows.js").Row} row
     * @param {number} y below the row's top
     * @returns {{lines: string[], range: [number, number]|null}|null}
     */
    at(row, y, timeNs, nsPerPixel) {
      const reach = kReachPixels * nsPerPixel;
      if (row.kind === "counter") {
        const value = valueAt(counters.timeNs, row.counter.rows, timeNs);
        return value < 0 ? null : {range: null, lines: [nameOf(row.counter.name),
          `${counters.value[value]} since ${duration(counters.timeNs[value])}`]};
      }
      if (row.lanes && y < eventsTop(row)) {
        const table = tableOf(row);
        const found = intervalAt(table, row.lanes, Math.floor(y / kLaneHeight), timeNs, reach);
        if (found < 0) return null;
        const range = [table.beginNs[found], table.beginNs[found] + table.durationNs[found]];
        if (table === sections) {
          return {range, lines: linesOfInterval(sections, found,
            [sections.thread[found] < 0 ? "section of all threads" : `section of ${threads[sections.thread[found]].name}`])};
        }
        const [text, parent, end] = [spans.text[found], spans.parent[found], spans.endThread[found]];
        return {range, lines: linesOfInterval(spans, found, [texts[text],
          parent < 0 ? "" : `in ${nameOf(spans.name[parent])}`,
          end < 0 || end === spans.thread[found] ? "" : `ended by ${threads[end].name}`])};
      }
      if (row.events.length === 0 || y >= eventsTop(row) + kEventHeight) return null;
      const found = momentAt(events.timeNs, row.events, timeNs, reach);
      return found < 0 ? null : {range: null, lines: [nameOf(events.name[found]),
        `at ${duration(events.timeNs[found])}`, texts[events.text[found]]].filter((line) => line !== "")};
    },
  };
}
