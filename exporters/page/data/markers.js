// The markers of the program, ready to be drawn: spans and sections in lanes without overlaps.

/** @typedef {import("./profile.js").Profile} Profile */
/** @typedef {import("./profile.js").Markers} Markers */

export const kMostLanes = 12;  // what has no room is counted, not drawn
const kMostOverlapping = 4;    // lanes of what overlaps freely: sections, spans across threads

/** @returns {Markers} */
export function noMarkers() {
  const none = () => new Float64Array(0);
  return {
    texts: [""],
    spans: {count: 0, thread: none(), endThread: none(), beginNs: none(), durationNs: none(), name: none(),
      text: none(), parent: none(), across: none(), closed: none()},
    sections: {count: 0, process: none(), thread: none(), beginNs: none(), durationNs: none(), name: none(),
      closed: none()},
    events: {count: 0, thread: none(), timeNs: none(), name: none(), text: none()},
    counters: {count: 0, process: none(), name: none(), timeNs: none(), value: none()},
  };
}

/**
 * Intervals in lanes: each in the first that is free when it begins, so what is inside another is
 * below it.
 * @typedef {object} Lanes
 * @property {number[]} rows by begin
 * @property {Int8Array} lane of each; -1: not drawn
 * @property {number} count
 * @property {number} hidden rows that are not drawn
 */

/**
 * @param {{beginNs: ArrayLike<number>, durationNs: ArrayLike<number>}} table
 * @param {number[]} rows by begin
 * @param {{most: number, has: (row: number) => boolean}[]} groups lanes for some of the rows, one
 *   group below the other
 * @returns {Lanes}
 */
export function inLanes({beginNs, durationNs}, rows, groups = [{most: kMostLanes, has: () => true}]) {
  const lane = new Int8Array(rows.length).fill(-1);
  let count = 0;
  let hidden = 0;
  for (const {most, has} of groups) {
    const ends = [];
    rows.forEach((row, i) => {
      if (!has(row)) return;
      let free = ends.findIndex((end) => end <= beginNs[row]);
      if (free < 0) free = ends.length;
      if (free >= most) {
        ++hidden;
        return;
      }
      ends[free] = beginNs[row] + durationNs[row];
      lane[i] = count + free;
    });
    count += ends.length;
  }
  return {rows, lane, count, hidden};
}

// Rows by what they are of.
function grouped(count, keyOf) {
  const groups = new Map();
  for (let row = 0; row < count; ++row) {
    const key = keyOf(row);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  return groups;
}

/**
 * @param {Profile} profile
 * @returns {{spans: Map<number, Lanes>, events: Map<number, number[]>, sections: Map<number, Lanes>,
 *   counters: {process: number, name: number, rows: number[], least: number, most: number}[],
 *   hidden: number}} spans and events by thread, sections by process
 */
export function arrangeMarkers({markers: {spans, sections, events, counters}}) {
  const lanes = (table, keyOf, groups) => new Map([...grouped(table.count, keyOf)]
    .map(([key, rows]) => [key, inLanes(table, rows, groups)]));
  const ofSpans = lanes(spans, (row) => spans.thread[row], [
    {most: kMostLanes, has: (row) => !spans.across[row]},
    {most: kMostOverlapping, has: (row) => spans.across[row] === 1}]);
  const ofSections = lanes(sections, (row) => sections.process[row],
    [{most: kMostOverlapping, has: () => true}]);
  const ofCounters = grouped(counters.count, (row) => `${counters.process[row]} ${counters.name[row]}`);
  return {
    spans: ofSpans,
    sections: ofSections,
    events: grouped(events.count, (row) => events.thread[row]),
    counters: [...ofCounters.values()].map((rows) => {
      const values = rows.map((row) => counters.value[row]);
      const reduce = (fn) => values.reduce((a, b) => fn(a, b), 0);
      return {process: counters.process[rows[0]], name: counters.name[rows[0]], rows,
        least: reduce(Math.min), most: reduce(Math.max)};
    }),
    hidden: [...ofSpans.values(), ...ofSections.values()].reduce((sum, each) => sum + each.hidden, 0),
  };
}

/**
 * The interval at a place of a lane, or the nearest within `reach`; -1: none.
 * @param {{beginNs: ArrayLike<number>, durationNs: ArrayLike<number>}} table
 * @param {Lanes} lanes
 */
export function intervalAt({beginNs, durationNs}, {rows, lane}, wanted, timeNs, reach) {
  let best = -1;
  let nearest = reach;
  for (let i = 0; i < rows.length && beginNs[rows[i]] <= timeNs + reach; ++i) {
    if (lane[i] !== wanted) continue;
    const begin = beginNs[rows[i]];
    const distance = Math.max(begin - timeNs, timeNs - begin - durationNs[rows[i]], 0);
    if (distance <= nearest) [best, nearest] = [rows[i], distance];
  }
  return best;
}

/** The nearest moment within `reach`; -1: none. @param {ArrayLike<number>} timesNs @param {number[]} rows */
export function momentAt(timesNs, rows, timeNs, reach) {
  let best = -1;
  for (const row of rows) {
    const distance = Math.abs(timesNs[row] - timeNs);
    if (distance <= reach) [best, reach] = [row, distance];
  }
  return best;
}

/** What a counter stands at; its row, -1 before the first. @param {ArrayLike<number>} timesNs @param {number[]} rows */
export function valueAt(timesNs, rows, timeNs) {
  let from = 0;
  let to = rows.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (timesNs[rows[middle]] <= timeNs) from = middle + 1;
    else to = middle;
  }
  return from === 0 ? -1 : rows[from - 1];
}

/**
 * By text: 1 where it matches; and how many markers have such a name or text.
 * @param {Markers} markers
 * @param {RegExp} expression
 */
export function matchingMarkers({texts, spans, sections, events, counters}, expression) {
  const matches = Uint8Array.from(texts, (text) => text !== "" && expression.test(text) ? 1 : 0);
  const count = ({count: rows, name, text}) => {
    let sum = 0;
    for (let row = 0; row < rows; ++row) sum += matches[name[row]] || (text && matches[text[row]]) ? 1 : 0;
    return sum;
  };
  return {matches, count: count(spans) + count(sections) + count(events) + count(counters)};
}
