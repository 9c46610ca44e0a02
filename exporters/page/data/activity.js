// What threads did over time, in slices of equal length: how many CPUs they used, how many of them
// waited, by what it is of (see kinds.js).

import {forEachSample, lowerBound} from "./selection.js";

/** @typedef {import("./profile.js").Profile} Profile */
/** @typedef {{count: number, of: (sample: number) => number}} Kinds */

const kLeastShare = 1 / 4;  // of a CPU: a thread that had less was not on it all the time
const kBaseSlices = 16384;  // that coarser pictures of many samples are made of
const kManySamples = 20000;
const kWaitsBehind = 2;     // samples after a range that may begin in it

// Adds `rate` times the interval to the slices that it meets.
function spread(column, sliceNs, begin, end, rate) {
  const slices = column.length;
  const first = Math.floor(Math.max(0, begin / sliceNs));
  const last = Math.min(slices - 1, Math.floor(end / sliceNs));
  if (first > last) return;
  const from = Math.max(0, begin);
  const to = Math.min(end, slices * sliceNs);
  if (first === last) {
    column[first] += rate * (to - from);
    return;
  }
  column[first] += rate * ((first + 1) * sliceNs - from);
  for (let slice = first + 1; slice < last; ++slice) column[slice] += rate * sliceNs;
  column[last] += rate * (to - last * sliceNs);
}

/**
 * A sample stands for the time that ends with it and is as long as it weighs; or longer, since the sample before, where
 * the thread had to share its CPU. So there are never more CPUs in use than the machine has. What counts something else than
 * time, such as bytes, is of the moment of its sample.
 * @param {Profile} profile
 * @param {Iterable<number>|null} threads null: all
 * @param {number} slices
 * @param {Kinds} kinds
 * @param {[number, number]} [range] ns; all of the time without it
 * @returns {Float64Array[]} by kind and slice: 1 is one thread without pause; of what is not time, the weight per ns
 */
export function activityBy(profile, threads, slices, kinds, [fromNs, toNs] = [0, profile.meta.durationNs]) {
  const {ofThread, timeNs, weightNs, waiting, taken} = profile.samples;
  const sliceNs = (toNs - fromNs) / slices || 1;
  const ns = Array.from({length: kinds.count}, () => new Float64Array(slices));
  const beginOf = (sample) => Math.max(0, timeNs[sample] - weightNs[sample] / taken[sample]);
  const endOf = (sample) => beginOf(sample) + weightNs[sample];
  if ((profile.meta.unit ?? "") !== "") {
    const selection = {threads: threads && new Set(threads), fromNs, toNs, state: "all"};
    forEachSample(profile, selection, (sample) => {
      ns[kinds.of(sample)][Math.min(slices - 1, Math.floor((timeNs[sample] - fromNs) / sliceNs))] += weightNs[sample];
    });
    return ns.map((column) => column.map((value) => value / sliceNs));
  }
  // The share of a CPU that the thread had since the sample before.
  const shareOf = (sample) => {
    const share = weightNs[sample] / (endOf(sample) - endOf(sample - 1));
    return share >= kLeastShare && share < 1 ? share : 1;
  };
  for (const thread of threads ?? profile.threads.keys()) {
    const [all, none] = [ofThread[thread], ofThread[thread + 1]];
    const first = fromNs <= 0 ? all : lowerBound(timeNs, fromNs, all, none);
    const end = Math.min(none, lowerBound(timeNs, toNs, first, none) + kWaitsBehind);
    // One more before: a sample of several reaches beyond its time.
    for (let sample = Math.max(all, first - 1); sample < end; ++sample) {
      // What was before the first sample is not known: it had what the second has.
      const share = waiting[sample] || none - all < 2 ? 1 : shareOf(Math.max(sample, all + 1));
      const until = endOf(sample);
      const begin = Math.max(0, until - weightNs[sample] / share);
      spread(ns[kinds.of(sample)], sliceNs, begin - fromNs, until - fromNs, weightNs[sample] / (until - begin || 1));
    }
  }
  return ns.map((column) => column.map((value) => value / sliceNs));
}

/**
 * What a picture of the CPUs in use is as high as, and in words: the most that are in use in a slice. In short runs the
 * estimate of a slice can exceed what the machine has, the scale never does.
 * @param {Float64Array[]} parts by kind of CPU time, without the waits
 * @param {number|null} machine how many it has; null: not known
 */
export function cpuScale(parts, machine) {
  const most = mostOf(parts);
  const cpus = Math.min(machine ?? Infinity, Math.max(1, Math.ceil(most - 0.05)));
  return {cpus, text: machine === null ? `${cpus} CPU${cpus === 1 ? "" : "s"}` : `${cpus} of ${machine} CPU${machine === 1 ? "" : "s"}`};
}

/** The most of all slices. @param {Float64Array[]} parts by kind */
export function mostOf(parts) {
  let most = 0;
  for (let i = 0; i < (parts[0]?.length ?? 0); ++i) most = Math.max(most, parts.reduce((sum, part) => sum + part[i], 0));
  return most;
}

// Slices of a range, from those of all of the time.
function resampled(base, durationNs, slices, [fromNs, toNs]) {
  const perBase = durationNs / base[0].length;
  const sliceNs = (toNs - fromNs) / slices;
  return base.map((column) => Float64Array.from({length: slices}, (_, i) => {
    const from = Math.floor((fromNs + i * sliceNs) / perBase);
    const to = Math.min(column.length, Math.max(from + 1, Math.floor((fromNs + (i + 1) * sliceNs) / perBase)));
    let sum = 0;
    for (let slice = from; slice < to; ++slice) sum += column[slice];
    return sum / Math.max(1, to - from);
  }));
}

/**
 * Activity as it is drawn while somebody zooms: many samples are looked at once, and again only
 * where little of the time is seen.
 * @param {Profile} profile
 */
export function createActivities(profile) {
  const {durationNs} = profile.meta;
  const {ofThread, count} = profile.samples;
  let kinds = null;
  let of = "";
  let bases = new Map();
  let made = new Map();
  return {
    /** @param {string} key of these threads @param {Iterable<number>|null} threads */
    get(key, threads, slices, nextKinds, range) {
      if (kinds !== nextKinds) [kinds, bases] = [nextKinds, new Map()];
      const next = `${slices} ${range} ${kinds.name}`;
      if (next !== of) [of, made] = [next, new Map()];
      if (made.has(key)) return made.get(key);
      const samples = threads === null ? count :
        [...threads].reduce((sum, thread) => sum + ofThread[thread + 1] - ofThread[thread], 0);
      const isCoarse = (range[1] - range[0]) / slices >= durationNs / kBaseSlices;
      if (samples > kManySamples && isCoarse) {
        if (!bases.has(key)) bases.set(key, activityBy(profile, threads, kBaseSlices, kinds));
        made.set(key, resampled(bases.get(key), durationNs, slices, range));
      } else {
        made.set(key, activityBy(profile, threads, slices, kinds, range));
      }
      return made.get(key);
    },
  };
}

/**
 * What each thread used and waited in a range of time, whether it is selected or not.
 * @param {Profile} profile
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
