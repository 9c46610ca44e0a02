// How sure a share is that samples say. Samples on CPU are taken at moments that have nothing to do
// with what the program does, so those that meet a function are binomially distributed: of n samples,
// k met it, and its share is k / n with a standard deviation of sqrt(k (n - k) / n) / n. Waits are
// not sampled like that: each was measured, from its beginning to its end, and adds no error.

const kConfidence = 1.96;  // standard deviations about 95 % of a normal distribution
const kNoise = 0.5;
const kChance = 0.01;  // that a change is called sure which is none

/**
 * Half of the 95 % confidence interval of a share, as part of the share: 0.2 is "± 20 %".
 * @param {number} met samples that met the function
 * @param {number} all samples of the selection
 */
export function relativeError(met, all) {
  if (met <= 0 || all <= 0) return Infinity;
  return kConfidence * Math.sqrt(Math.max(0, 1 - met / all) / met);
}

/**
 * Half of the 95 % confidence interval of what was sampled on CPU.
 * @param {number} ns that the samples which met the function weigh
 */
export function errorNs(met, all, ns) {
  return met === 0 ? 0 : relativeError(met, all) * ns;
}

/** It could as well be half of it, or half as much again: on CPU, fewer than 16 samples. */
export function isNoise(error, ns) {
  return error > kNoise * ns;
}

/**
 * Standard deviations that, by chance, none of so many differences is beyond, with 99 % confidence
 * (Bonferroni). From P(|Z| > z) <= exp(-z^2 / 2), which is on the safe side.
 * @param {number} comparisons
 */
export function boundOfAll(comparisons) {
  return Math.sqrt(2 * Math.log(Math.max(1, comparisons) / kChance));
}

/**
 * How far off the difference of two shares, a and b, may be.
 * @param {{met: number, all: number}} a
 * @param {{met: number, all: number}} b
 * @param {number} bound standard deviations
 */
export function differenceError(a, b, bound) {
  const variance = ({met, all}) => all === 0 ? 0 : met * (all - met) / all ** 3;
  return bound * Math.sqrt(variance(a) + variance(b));
}
