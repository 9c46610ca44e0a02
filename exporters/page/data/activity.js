// What threads did over time: CPU used and time waited, in slices of equal length.

import {forEachSample} from "./selection.js";

/**
 * @typedef {object} Activity
 * @property {Float64Array} cpu by slice: CPUs in use, 1 is one thread without pause
 * @property {Float64Array} waiting by slice: threads that waited
 */

/**
 * A sample stands for the time that ends with it and is as long as it weighs.
 * @param {import("./profile.js").Profile} profile
 * @param {Iterable<number>|null} threads null: all
 * @param {number} slices
 * @returns {Activity}
 */
export function activity(profile, threads, slices) {
  const {timeNs, weightNs, waiting, taken} = profile.samples;
  const sliceNs = profile.meta.durationNs / slices || 1;
  const ns = [new Float64Array(slices), new Float64Array(slices)];
  forEachSample(profile, {threads, fromNs: 0, toNs: Infinity, state: "all"}, (sample) => {
    const column = ns[waiting[sample]];
    const begin = Math.max(0, timeNs[sample] - weightNs[sample] / taken[sample]);
    const end = begin + weightNs[sample];
    const first = Math.min(slices - 1, Math.floor(begin / sliceNs));
    const last = Math.min(slices - 1, Math.floor(end / sliceNs));
    if (first === last) {
      column[first] += weightNs[sample];
      return;
    }
    column[first] += (first + 1) * sliceNs - begin;
    for (let slice = first + 1; slice < last; ++slice) column[slice] += sliceNs;
    column[last] += end - last * sliceNs;
  });
  const [cpu, waited] = ns.map((column) => column.map((value) => value / sliceNs));
  return {cpu, waiting: waited};
}

/**
 * What each thread used and waited in a range of time, whether it is selected or not.
 * @param {import("./profile.js").Profile} profile
 * @param {{fromNs: number, toNs: number}} range
 * @returns {{cpu: Float64Array, waiting: Float64Array}} ns, by thread
 */
export function weightsByThread(profile, {fromNs, toNs}) {
  const {weightNs, waiting} = profile.samples;
  const columns = [new Float64Array(profile.threads.length), new Float64Array(profile.threads.length)];
  forEachSample(profile, {threads: null, fromNs, toNs, state: "all"}, (sample, thread) => {
    columns[waiting[sample]][thread] += weightNs[sample];
  });
  return {cpu: columns[0], waiting: columns[1]};
}
