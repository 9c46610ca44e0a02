// The time of a function in each thread.

import {forEachSample} from "./selection.js";
import {stacksWith} from "./search.js";

/**
 * @param {import("./profile.js").Profile} profile
 * @param {import("./selection.js").Selection} selection
 * @param {number} func
 * @returns {{thread: number, self: number, total: number, all: number, samples: number}[]} most
 *   total first; `all` is what the thread has in the selection, in ns as the others
 */
export function byThread(profile, selection, func) {
  const marked = new Uint8Array(profile.functions.count);
  marked[func] = 1;
  const found = stacksWith(profile, marked);
  const {samples, stacks, threads} = profile;
  const rows = threads.map((_, thread) => ({thread, self: 0, total: 0, all: 0, samples: 0}));
  forEachSample(profile, selection, (sample, thread) => {
    const row = rows[thread];
    const weight = samples.weightNs[sample];
    const stack = samples.stack[sample];
    row.all += weight;
    if (stack < 0 || !found[stack]) return;
    row.total += weight;
    row.samples += samples.taken[sample];
    if (stacks.func[stack] === func) row.self += weight;
  });
  return rows.filter((row) => row.samples !== 0).sort((a, b) => b.total - a.total);
}

/**
 * Where the compiler put a function into its callers.
 * @param {import("./profile.js").Profile} profile
 * @param {number} func
 * @returns {"never"|"always"|"sometimes"}
 */
export function inlining({stacks}, func) {
  let rows = 0;
  let inlined = 0;
  for (let row = 0; row < stacks.count; ++row) {
    if (stacks.func[row] !== func) continue;
    ++rows;
    inlined += stacks.inlined[row];
  }
  return inlined === 0 ? "never" : inlined === rows ? "always" : "sometimes";
}
