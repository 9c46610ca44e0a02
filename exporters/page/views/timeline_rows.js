// The rows of the timeline, one below the other: sections and counters of processes, then threads,
// each with its spans and events above what it did.

import {arrangeMarkers} from "../data/markers.js";

export const kRowHeight = 22;
export const kLaneHeight = 13;
export const kEventHeight = 9;
export const kNoName = "[no name]";

/**
 * @typedef {object} Row
 * @property {"sections"|"counter"|"thread"} kind
 * @property {string} label
 * @property {number} top
 * @property {number} height
 * @property {number} [thread]
 * @property {import("../data/markers.js").Lanes|null} lanes of spans, or sections
 * @property {number[]} events rows
 * @property {object} [counter]
 */

/** @param {import("../data/profile.js").Profile} profile */
export function createRows(profile) {
  const {threads, processes, markers: {texts}} = profile;
  const arranged = arrangeMarkers(profile);
  const named = (text, process) => processes.length > 1 ? `${text} (${processes[process].name})` : text;
  const ofProcesses = processes.flatMap((_, process) => {
    const lanes = arranged.sections.get(process);
    return [
      ...(lanes ? [{kind: "sections", label: named("sections", process), lanes, events: [],
        height: lanes.count * kLaneHeight + 4}] : []),
      ...arranged.counters.filter((counter) => counter.process === process).map((counter) =>
        ({kind: "counter", label: named(texts[counter.name] || kNoName, process), counter, lanes: null, events: [],
          height: kRowHeight})),
    ];
  });
  const ofThread = (thread) => {
    const lanes = arranged.spans.get(thread) ?? null;
    const events = arranged.events.get(thread) ?? [];
    const above = (lanes?.count ?? 0) * kLaneHeight + (events.length > 0 ? kEventHeight : 0);
    return {kind: "thread", thread, label: threads[thread].name || `tid ${threads[thread].tid}`, lanes,
      events, height: above + kRowHeight};
  };
  return {
    hidden: arranged.hidden,
    hasMarkers: ofProcesses.length + arranged.spans.size + arranged.events.size > 0,
    /** @param {Iterable<number>} shown threads @returns {{rows: Row[], height: number}} */
    of(shown) {
      let height = 0;
      const rows = [...ofProcesses, ...[...shown].map(ofThread)].map((row) => {
        const placed = {...row, top: height};
        height += row.height;
        return placed;
      });
      return {rows, height};
    },
  };
}

/** The row at a height; undefined below the last. @param {Row[]} rows */
export function rowAt(rows, y) {
  let from = 0;
  let to = rows.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (rows[middle].top + rows[middle].height <= y) from = middle + 1;
    else to = middle;
  }
  return y < 0 ? undefined : rows[from];
}
