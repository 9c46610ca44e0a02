// The workers of a job beside each other: the recordings of a merged profile, else its processes.

import {activityBy} from "./activity.js";
import {stacksWith} from "./search.js";
import {forEachSample} from "./selection.js";

/** @typedef {{name: string, threads: number[]}} Worker */

/**
 * In the order of the recordings, which is that of their ranks, or of the processes.
 * @param {import("./profile.js").Profile} profile
 * @returns {Worker[]}
 */
export function workersOf({threads, processes}) {
  const isMerged = new Set(processes.map(({label}) => label ?? "")).size > 1;
  const workers = new Map();
  threads.forEach(({process}, thread) => {
    const {name, pid, label} = processes[process];
    const key = isMerged ? label : process;
    if (!workers.has(key)) workers.set(key, {name: isMerged ? label : `${name} ${pid}`, threads: []});
    workers.get(key).threads.push(thread);
  });
  return [...workers.values()];
}

/**
 * @typedef {object} WorkerRow
 * @property {Worker} worker
 * @property {number} index in the order of workersOf
 * @property {number} ns of the function with what it calls, or of all, in the selection
 * @property {number} imbalance ns, divided by the mean over the workers
 * @property {Float64Array} heat by slice of the selected time: how many threads were in the function
 */

/**
 * @param {import("./profile.js").Profile} profile
 * @param {Worker[]} workers all of them, whichever threads are selected
 * @param {import("./selection.js").Selection} selection
 * @param {{func: number|null, slices: number}} options func: null, all functions
 * @returns {WorkerRow[]}
 */
export function workerRows(profile, workers, selection, {func, slices}) {
  const {stack, weightNs, waiting} = profile.samples;
  const marked = new Uint8Array(profile.functions.count);
  if (func !== null) marked[func] = 1;
  const found = stacksWith(profile, marked);
  const leftOut = {cpu: 1, waiting: 0, all: -1}[selection.state];
  const isMeant = (sample) => waiting[sample] !== leftOut && (func === null || (stack[sample] >= 0 && found[stack[sample]] === 1));
  const kinds = {count: 2, of: (sample) => isMeant(sample) ? 0 : 1};
  const range = [selection.fromNs, Math.min(selection.toNs, profile.meta.durationNs)];
  const rows = workers.map((worker, index) => {
    let ns = 0;
    forEachSample(profile, {...selection, threads: new Set(worker.threads)}, (sample) => { ns += isMeant(sample) ? weightNs[sample] : 0; });
    return {worker, index, ns, imbalance: 0, heat: activityBy(profile, worker.threads, slices, kinds, range)[0]};
  });
  const mean = rows.reduce((sum, {ns}) => sum + ns, 0) / rows.length;
  for (const row of rows) row.imbalance = mean === 0 ? 0 : row.ns / mean;
  return rows;
}
