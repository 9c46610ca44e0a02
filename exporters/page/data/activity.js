// What threads did over time: CPU used and time waited, in slices of equal length.

import {everything, forEachRange, forEachSample} from "./selection.js";

/**
 * @typedef {object} Activity
 * @property {Float64Array} cpu by slice: CPUs in use, 1 is one thread without pause
 * @property {Float64Array} waiting by slice: threads that waited
 */

const kLeastShare = 1 / 4;  // of a CPU: a thread that had less was not on it all the time

// Adds `rate` times the interval to the slices that it meets.
function spread(column, sliceNs, begin, end, rate) {
  const slices = column.length;
  const first = Math.min(slices - 1, Math.floor(begin / sliceNs));
  const last = Math.min(slices - 1, Math.floor(end / sliceNs));
  if (first === last) {
    column[first] += rate * (end - begin);
    return;
  }
  column[first] += rate * ((first + 1) * sliceNs - begin);
  for (let slice = first + 1; slice < last; ++slice) column[slice] += rate * sliceNs;
  column[last] += rate * (end - last * sliceNs);
}

/**
 * A sample stands for the time that ends with it and is as long as it weighs; or longer, since the sample before, where
 * the thread had to share its CPU. So there are never more CPUs in use than the machine has.
 * @param {import("./profile.js").Profile} profile
 * @param {Iterable<number>|null} threads null: all
 * @param {number} slices
 * @returns {Activity}
 */
export function activity(profile, threads, slices) {
  const {timeNs, weightNs, waiting, taken} = profile.samples;
  const sliceNs = profile.meta.durationNs / slices || 1;
  const ns = [new Float64Array(slices), new Float64Array(slices)];
  const beginOf = (sample) => Math.max(0, timeNs[sample] - weightNs[sample] / taken[sample]);
  const endOf = (sample) => beginOf(sample) + weightNs[sample];
  // The share of a CPU that the thread had since the sample before.
  const shareOf = (sample) => {
    const share = weightNs[sample] / (endOf(sample) - endOf(sample - 1));
    return share >= kLeastShare && share < 1 ? share : 1;
  };
  forEachRange(profile, {...everything(), threads}, (first, end) => {
    for (let sample = first; sample < end; ++sample) {
      // What was before the first sample is not known: it had what the second has.
      const share = waiting[sample] || end - first < 2 ? 1 : shareOf(Math.max(sample, first + 1));
      const until = endOf(sample);
      const begin = Math.max(0, until - weightNs[sample] / share);
      spread(ns[waiting[sample]], sliceNs, begin, until, weightNs[sample] / (until - begin || 1));
    }
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
