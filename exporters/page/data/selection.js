// The part of a profile that is shown: some threads, a range of time, one state.

/** @typedef {import("./profile.js").Profile} Profile */

/**
 * @typedef {object} Selection
 * @property {Set<number>|null} threads null: all
 * @property {number} fromNs a sample belongs to the range when its time is in [fromNs, toNs)
 * @property {number} toNs
 * @property {"cpu"|"waiting"|"all"} state
 */

// By state, which value of the column `waiting` is not looked at.
const kLeftOut = {cpu: 1, waiting: 0, all: -1};

/** @returns {Selection} */
export function everything() {
  return {threads: null, fromNs: 0, toNs: Infinity, state: "all"};
}

// The first index in [from, to) whose value is not below `value`; `values` ascend there.
export function lowerBound(values, value, from, to) {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (values[middle] < value) from = middle + 1;
    else to = middle;
  }
  return from;
}

/**
 * Calls fn(first, end, thread) for the samples of each selected thread that are in the range of
 * time, in whatever state.
 * @param {Profile} profile
 * @param {Selection} selection
 * @param {(first: number, end: number, thread: number) => void} fn
 */
export function forEachRange(profile, selection, fn) {
  const {ofThread, timeNs} = profile.samples;
  const threads = selection.threads ?? profile.threads.keys();
  for (const thread of threads) {
    const first = lowerBound(timeNs, selection.fromNs, ofThread[thread], ofThread[thread + 1]);
    const end = lowerBound(timeNs, selection.toNs, first, ofThread[thread + 1]);
    if (end > first) fn(first, end, thread);
  }
}

/**
 * @param {Profile} profile
 * @param {Selection} selection
 * @param {(sample: number, thread: number) => void} fn
 */
export function forEachSample(profile, selection, fn) {
  const {waiting} = profile.samples;
  const leftOut = kLeftOut[selection.state];
  forEachRange(profile, selection, (first, end, thread) => {
    for (let sample = first; sample < end; ++sample) {
      if (waiting[sample] !== leftOut) fn(sample, thread);
    }
  });
}

/**
 * The selected samples, added up by stack. Index stacks.count: samples of which nothing is known.
 * @param {Profile} profile
 * @param {Selection} selection
 * @returns {{ns: Float64Array, samples: Uint32Array}}
 */
export function weightsByStack(profile, selection) {
  const {count} = profile.stacks;
  const {stack, weightNs, waiting, taken} = profile.samples;
  const leftOut = kLeftOut[selection.state];
  const ns = new Float64Array(count + 1);
  const samples = new Uint32Array(count + 1);
  forEachRange(profile, selection, (first, end) => {
    for (let sample = first; sample < end; ++sample) {
      if (waiting[sample] === leftOut) continue;
      const index = stack[sample] < 0 ? count : stack[sample];
      ns[index] += weightNs[sample];
      samples[index] += taken[sample];
    }
  });
  return {ns, samples};
}
