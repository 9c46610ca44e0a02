// Spans, sections, events, counters and waits as a table: a row per name, with percentiles.

import {flatTable} from "./flat.js";
import {forEachRange, forEachSample} from "./selection.js";

/** @typedef {import("./profile.js").Profile} Profile */
/** @typedef {import("./selection.js").Selection} Selection */

/**
 * @typedef {object} MarkerRow
 * @property {"span"|"section"|"wait"|"event"|"counter"} kind
 * @property {string} name
 * @property {number} count
 * @property {Occurrence[]} all longest first; of events and counters by time
 * @property {number|null} totalNs
 * @property {number[]|null} percentiles p50, p90, p99, p100, ns; of counters least, mean, last, most
 */

/**
 * @typedef {object} Occurrence
 * @property {number} beginNs
 * @property {number} durationNs
 * @property {number} thread -1: all, or none
 * @property {string} text
 * @property {number} [value]
 */

const kPercentiles = [0.5, 0.9, 0.99, 1];

/** The value that a share of them does not exceed (nearest rank). @param {number[]} ascending */
export function percentile(ascending, share) {
  return ascending[Math.max(0, Math.ceil(share * ascending.length - 1e-9) - 1)];
}

function timed(kind, name, all) {
  all.sort((a, b) => b.durationNs - a.durationNs || a.beginNs - b.beginNs);
  const ascending = all.map(({durationNs}) => durationNs).reverse();
  return {kind, name, count: all.length, all, totalNs: ascending.reduce((sum, ns) => sum + ns, 0),
    percentiles: kPercentiles.map((share) => percentile(ascending, share))};
}

function grouped(rows, keyOf) {
  const groups = new Map();
  for (const row of rows) {
    const key = keyOf(row);
    groups.get(key)?.push(row) ?? groups.set(key, [row]);
  }
  return groups;
}

const indices = ({count}) => Array.from({length: count}, (_, i) => i);

function counterRow(name, rows, {timeNs, value}, [fromNs, toNs]) {
  const all = rows.filter((row, i) => timeNs[row] < toNs && (timeNs[rows[i + 1]] ?? Infinity) > fromNs);
  if (all.length === 0) return null;
  let sum = 0;
  let ns = 0;
  all.forEach((row, i) => {
    const begin = Math.max(fromNs, timeNs[row]);
    const end = Math.min(toNs, i + 1 < all.length ? timeNs[all[i + 1]] : toNs);
    sum += value[row] * (end - begin);
    ns += end - begin;
  });
  const values = all.map((row) => value[row]);
  return {kind: "counter", name, count: all.length, totalNs: null,
    all: all.map((row) => ({beginNs: timeNs[row], durationNs: 0, thread: -1, text: "", value: value[row]})),
    percentiles: [values.reduce((a, b) => Math.min(a, b)), ns > 0 ? sum / ns : values[0], values.at(-1), values.reduce((a, b) => Math.max(a, b))]};
}

/**
 * What overlaps the selected time, of the selected threads: most time first.
 * @param {Profile} profile
 * @param {Selection} selection
 * @returns {MarkerRow[]}
 */
export function markerRows(profile, selection) {
  const {markers: {texts, spans, sections, events, counters}, samples, stacks, functions, strings, processes} = profile;
  const [fromNs, toNs] = [selection.fromNs, Math.min(selection.toNs, profile.meta.durationNs)];
  const isChosen = (thread) => selection.threads === null || thread < 0 || selection.threads.has(thread);
  const overlaps = ({beginNs, durationNs}, row) => beginNs[row] < toNs && beginNs[row] + durationNs[row] >= fromNs;
  const interval = (table, row) => ({beginNs: table.beginNs[row], durationNs: table.durationNs[row],
    thread: table.thread[row], text: table.text ? texts[table.text[row]] : ""});
  const ofTable = (kind, table) => [...grouped(indices(table).filter((row) => overlaps(table, row) && isChosen(table.thread[row])),
    (row) => table.name[row])].map(([name, rows]) => timed(kind, texts[name], rows.map((row) => interval(table, row))));

  const waits = new Map();
  forEachSample(profile, {...selection, state: "waiting"}, (i, thread) => {
    const func = samples.stack[i] < 0 ? -1 : stacks.func[samples.stack[i]];
    if (!waits.has(func)) waits.set(func, []);
    waits.get(func).push({beginNs: Math.max(0, samples.timeNs[i] - samples.weightNs[i]), durationNs: samples.weightNs[i], thread, text: ""});
  });
  const named = (process, text) => processes.length > 1 ? `${texts[text]} (${processes[process].name})` : texts[text];
  return [
    ...ofTable("span", spans), ...ofTable("section", sections),
    ...[...waits].map(([func, all]) => timed("wait", func < 0 || !functions.wait[func] ? "[other wait]" : strings[functions.name[func]], all)),
    ...[...grouped(indices(events).filter((row) => events.timeNs[row] >= fromNs && events.timeNs[row] < toNs && isChosen(events.thread[row])),
      (row) => events.name[row])].map(([name, rows]) => ({kind: "event", name: texts[name], count: rows.length, totalNs: null, percentiles: null,
      all: rows.map((row) => ({beginNs: events.timeNs[row], durationNs: 0, thread: events.thread[row], text: texts[events.text[row]]}))})),
    ...[...grouped(indices(counters), (row) => `${counters.process[row]} ${counters.name[row]}`).values()].flatMap((rows) =>
      counterRow(named(counters.process[rows[0]], counters.name[rows[0]]), rows, counters, [fromNs, toNs]) ?? []),
  ].sort((a, b) => (b.totalNs ?? -1) - (a.totalNs ?? -1));
}

/** What identifies a row, in every selection. @param {MarkerRow} row */
export const markerKey = ({kind, name}) => `${kind} ${name}`;

/**
 * How many durations are in each of `bins` that grow by the same factor.
 * @param {Occurrence[]} all
 */
export function histogram(all, bins) {
  const durations = all.map(({durationNs}) => Math.max(1, durationNs));
  const least = durations.reduce((a, b) => Math.min(a, b), Infinity);
  const most = durations.reduce((a, b) => Math.max(a, b), 1);
  const counts = new Array(bins).fill(0);
  const span = Math.log(most / least) || 1;
  for (const each of durations) ++counts[Math.min(bins - 1, Math.floor(bins * Math.log(each / least) / span))];
  return {least, most, counts};
}

/**
 * Why some take longer: functions whose time per occurrence differs most between the slowest tenth
 * and the others.
 * @param {Profile} profile
 * @param {Occurrence[]} all longest first
 * @returns {{func: number, slowNs: number, usualNs: number}[]} per occurrence; empty where there are too few
 */
export function explain(profile, all, most = 6) {
  const slowest = Math.ceil(all.length / 10);
  if (all.length < 10) return [];
  const groups = [all.slice(0, slowest), all.slice(slowest)].map((occurrences) => {
    const ns = new Float64Array(profile.stacks.count + 1);
    const samples = new Uint32Array(profile.stacks.count + 1);
    for (const {thread, beginNs, durationNs} of occurrences) {
      const {stack, weightNs, timeNs, taken} = profile.samples;
      const range = {threads: thread < 0 ? null : [thread], fromNs: beginNs, toNs: Infinity};
      const endNs = beginNs + durationNs;
      forEachRange(profile, range, (first, end) => {
        for (let i = first; i < end; ++i) {
          const begin = timeNs[i] - weightNs[i];
          // What a sample weighs lies before it: only as much of it as is within the span.
          const within = Math.min(timeNs[i], endNs) - Math.max(begin, beginNs);
          if (within > 0) {
            const row = stack[i] < 0 ? profile.stacks.count : stack[i];
            ns[row] += within;
            samples[row] += taken[i];
          } else if (begin >= endNs) break;
        }
      });
    }
    const flat = flatTable(profile, {ns, samples});
    return new Map(Array.from(flat.func, (func, row) => [func, flat.self[row] / occurrences.length]));
  });
  const [slow, usual] = groups;
  return [...new Set([...slow.keys(), ...usual.keys()])].filter((func) => func >= 0)
    .map((func) => ({func, slowNs: slow.get(func) ?? 0, usualNs: usual.get(func) ?? 0}))
    .sort((a, b) => Math.abs(b.slowNs - b.usualNs) - Math.abs(a.slowNs - a.usualNs)).slice(0, most)
    .filter(({slowNs, usualNs}) => slowNs !== usualNs);
}
