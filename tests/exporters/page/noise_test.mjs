import assert from "node:assert/strict";
import {test} from "node:test";
import {boundOfAll, differenceError, errorNs, isNoise, relativeError} from "../../../exporters/page/data/noise.js";

test("the interval holds the truth 95 times in a hundred", () => {
  let state = 12345;
  const random = () => {
    state = Math.imul(state, 1664525) + 1013904223 >>> 0;  // Numerical Recipes' generator
    return state / 2 ** 32;
  };
  const [share, all, runs] = [0.1, 2000, 1500];
  let held = 0;
  for (let run = 0; run < runs; ++run) {
    let met = 0;
    for (let i = 0; i < all; ++i) met += random() < share ? 1 : 0;
    held += Math.abs(met / all - share) <= relativeError(met, all) * met / all ? 1 : 0;
  }
  assert.ok(Math.abs(held / runs - 0.95) < 0.02, `${held / runs}`);
});

test("fewer than 16 samples of many are noise", () => {
  assert.ok(isNoise(errorNs(15, 1e6, 15), 15));
  assert.ok(!isNoise(errorNs(16, 1e6, 16), 16));
  assert.ok(!isNoise(errorNs(3, 3, 3), 3), "nothing else was seen");
  assert.ok(!isNoise(errorNs(0, 100, 0), 1e9), "it only waited, which was measured");
  assert.ok(!isNoise(errorNs(1, 100, 10), 1e9), "it waited nearly always");
});

test("the error of a difference: that of both together", () => {
  const [a, b] = [{met: 100, all: 1000}, {met: 400, all: 1000}];
  const own = ({met, all}) => relativeError(met, all) * met / all;
  assert.ok(Math.abs(differenceError(a, b, 1.96) - Math.hypot(own(a), own(b))) < 1e-12);
  assert.equal(differenceError({met: 0, all: 0}, {met: 0, all: 0}, 1.96), 0);
});

test("the more is compared, the more a change must be", () => {
  // Of a normal distribution, 99 % two-sided: 2.576; of 1000 at once, 4.417 (tables).
  for (const [comparisons, least] of [[0, 2.576], [1, 2.576], [1000, 4.417]]) {
    assert.ok(boundOfAll(comparisons) >= least && boundOfAll(comparisons) < 1.2 * least, `${comparisons}`);
  }
});
