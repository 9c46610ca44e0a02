// How sure a share is that samples say. Samples are taken at moments that have nothing to do with
// what the program does, so those that meet a function are binomially distributed: of n samples,
// k met it, and its share is k / n with a standard deviation of sqrt(k (n - k) / n) / n.

const kConfidence = 1.96;  // standard deviations about 95 % of a normal distribution
const kNoise = 0.5;

/**
 * Half of the 95 % confidence interval of a share, as part of the share: 0.2 is "± 20 %".
 * @param {number} met samples that met the function
 * @param {number} all samples of the selection
 */
export function relativeError(met, all) {
  if (met <= 0 || all <= 0) return Infinity;
  return kConfidence * Math.sqrt(Math.max(0, 1 - met / all) / met);
}

/** The share could as well be half of it, or half as much again. Means fewer than 16 samples. */
export function isNoise(met, all) {
  return relativeError(met, all) > kNoise;
}

/**
 * Half of the 95 % confidence interval of the difference of two shares, a and b.
 * @param {{met: number, all: number}} a
 * @param {{met: number, all: number}} b
 */
export function differenceError(a, b) {
  const variance = ({met, all}) => all === 0 ? 0 : met * (all - met) / all ** 3;
  return kConfidence * Math.sqrt(variance(a) + variance(b));
}
