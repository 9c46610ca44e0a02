// The rows of threads and tracks, one below the other: processes with their sections and counters,
// pools, and threads, each with its spans and events above what it did.

import {arrangeMarkers} from "../data/markers.js";
import {threadRows} from "../data/thread_rows.js";

export const kRowHeight = 22;
export const kLaneHeight = 13;
export const kEventHeight = 9;
export const kNoName = "[no name]";

/**
 * @typedef {object} Row a ThreadRow, or a track of a process, with what is drawn
 * @property {"sections"|"counter"|"process"|"pool"|"thread"} kind
 * @property {string} label
 * @property {number} top
 * @property {number} height
 * @property {number[]} threads none of a track
 * @property {number} [thread]
 * @property {import("../data/markers.js").Lanes|null} lanes of spans, or sections
 * @property {number[]} events rows
 * @property {object} [counter]
 */

/** @param {import("../data/profile.js").Profile} profile */
export function createRows(profile) {
  const {processes, markers: {texts}} = profile;
  const arranged = arrangeMarkers(profile);
  const track = (kind, label, key, more) => ({kind, label, name: label, detail: "", key, threads: [], lanes: null, events: [], ...more});
  const tracksOf = (process, depth) => {
    const lanes = arranged.sections.get(process);
    return [
      ...(lanes ? [track("sections", "sections", `s${process}`, {depth, lanes, height: lanes.count * kLaneHeight + 4})] : []),
      ...arranged.counters.filter((counter) => counter.process === process).map((counter) =>
        track("counter", texts[counter.name] || kNoName, `c${process} ${counter.name}`, {depth, counter, height: kRowHeight})),
    ];
  };
  const drawn = (row) => {
    const label = row.name || row.detail;
    if (row.kind !== "thread") return {...row, label, lanes: null, events: [], height: kRowHeight};
    const [thread] = row.threads;
    const lanes = arranged.spans.get(thread) ?? null;
    const events = arranged.events.get(thread) ?? [];
    const above = (lanes?.count ?? 0) * kLaneHeight + (events.length > 0 ? kEventHeight : 0);
    return {...row, thread, label, lanes, events, height: above + kRowHeight};
  };
  return {
    hidden: arranged.hidden,
    /** @param {object} options of threadRows @returns {{rows: Row[], height: number}} */
    of(options) {
      const wanted = (options.search ?? "").toLowerCase();
      const listed = threadRows(profile, options);
      const tracks = (process, depth) => tracksOf(process, depth).filter(({label}) => label.toLowerCase().includes(wanted));
      const rows = [
        ...(processes.length > 1 ? [] : tracks(0, 0)),
        ...listed.flatMap((row) => row.kind === "process" && !options.folded?.has(row.key) ?
          [drawn(row), ...tracks(row.process, 1)] : [drawn(row)]),
      ];
      let height = 0;
      for (const row of rows) {
        row.top = height;
        height += row.height;
      }
      return {rows, height};
    },
  };
}

/** The index of the row at a height; rows.length below the last. @param {Row[]} rows */
export function rowIndexAt(rows, y) {
  let from = 0;
  let to = rows.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (rows[middle].top + rows[middle].height <= y) from = middle + 1;
    else to = middle;
  }
  return from;
}
