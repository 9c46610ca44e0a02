// The rows of the table of functions: which there are, in which order.

import {differenceError, isNoise} from "./noise.js";

/** @typedef {import("./profile.js").Profile} Profile */
/** @typedef {import("./flat.js").FlatTable} FlatTable */

/**
 * @typedef {object} Change of a function's self share, from side a to side b of a comparison
 * @property {number} before
 * @property {number} after
 * @property {number} error how far off their difference may be
 */

/**
 * @typedef {object} Row
 * @property {number} func
 * @property {number} self ns
 * @property {number} total ns
 * @property {number} samples with it as the leaf
 * @property {number} selfError half of the 95 % confidence interval, in ns
 * @property {number} totalError
 * @property {boolean} noise
 * @property {Change|null} change
 */

// Self shares by function, of one side.
function sideShares(flat, {ns, samples}) {
  const shares = new Map();
  for (let row = 0; row < flat.count; ++row) {
    shares.set(flat.func[row], {share: flat.self[row] / (ns || 1), met: flat.selfSamples[row], all: samples});
  }
  return (func) => shares.get(func) ?? {share: 0, met: 0, all: samples};
}

/**
 * @param {FlatTable} flat
 * @param {(func: number) => {self: number, total: number}} errorOf function, in ns
 * @param {{flat: FlatTable, all: {ns: number, samples: number}}[]|null} sides of a comparison
 * @param {number} bound of changes, in standard deviations
 * @returns {Row[]}
 */
export function tableRows(flat, errorOf, sides = null, bound = 0) {
  const shares = sides?.map((side) => sideShares(side.flat, side.all));
  return Array.from({length: flat.count}, (_, row) => {
    const func = flat.func[row];
    const error = errorOf(func);
    const [a, b] = shares?.map((of) => of(func)) ?? [];
    return {
      func, self: flat.self[row], total: flat.total[row], samples: flat.selfSamples[row],
      selfError: error.self, totalError: error.total,
      noise: isNoise(error.total, flat.total[row]),
      change: shares ? {before: a.share, after: b.share, error: differenceError(a, b, bound)} : null,
    };
  });
}

const sizeOf = (change) => change === null ? 0 : Math.abs(change.after - change.before);

/** Chance does not explain it. @param {Change|null} change */
export const isSure = (change) => change !== null && sizeOf(change) > change.error;

/**
 * @param {Row[]} rows
 * @param {string} sort a column; "-" before it: the other way round
 * @param {{of: Function, module: Function, place: Function}} names
 */
export function sortRows(rows, sort, names) {
  const backwards = sort.startsWith("-") ? -1 : 1;
  const text = (of) => (a, b) => {
    const [x, y] = [of(a.func), of(b.func)];
    return (x === "") - (y === "") || (x < y ? -1 : x > y ? 1 : 0);
  };
  const compare = {
    name: text(names.of),
    module: text(names.module),
    file: text(names.place),
    self: (a, b) => b.self - a.self,
    total: (a, b) => b.total - a.total,
    samples: (a, b) => b.samples - a.samples,
    change: (a, b) => isSure(b.change) - isSure(a.change) || sizeOf(b.change) - sizeOf(a.change),
  }[sort.replace("-", "")];
  return [...rows].sort((a, b) => backwards * compare(a, b) || b.self - a.self || b.total - a.total);
}
