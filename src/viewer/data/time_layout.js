// Where frames lie in time: for each thread its stacks beside each other, as they were sampled; what
// goes on from sample to sample is one box.
//
// A sample stands for the time that ends with it, as long as it weighs. Samples that share a column of
// two pixels are drawn as the heaviest of them.

/** @typedef {import("./profile.js").Profile} Profile */

const kColumnPixels = 2;

/**
 * @typedef {object} TimeBox
 * @property {number} x pixels
 * @property {number} width
 * @property {number} row
 * @property {number} stack row of profile.stacks
 * @property {number} func
 * @property {number} thread
 * @property {number} beginNs
 * @property {number} endNs
 * @property {number} merged 0
 */

// The samples that are seen, at most one per column: [beginNs, endNs, stack] by time.
function visible({samples}, ranges, leftOut, fromNs, toNs, width) {
  const perColumn = kColumnPixels * (toNs - fromNs) / width;
  const seen = [];
  let column = -1;
  let last = fromNs;
  for (const [first, end] of ranges) {
    for (let i = first; i < end; ++i) {
      if (samples.waiting[i] === leftOut || samples.stack[i] < 0) continue;
      const endNs = samples.timeNs[i];
      const beginNs = Math.max(endNs - samples.weightNs[i], last);
      last = endNs;
      if (endNs <= fromNs || beginNs >= toNs) continue;
      const at = Math.floor((endNs - fromNs) / perColumn);
      const same = at === column && endNs - beginNs < perColumn;
      column = at;
      if (!same) {
        seen.push([beginNs, endNs, samples.stack[i]]);
        continue;
      }
      const before = seen.at(-1);
      const heavier = endNs - beginNs > before[1] - before[0];
      before[1] = endNs;
      if (heavier) before[2] = samples.stack[i];
    }
  }
  return seen;
}

// Stack rows from the root to the leaf.
function rowsOf(stacks, leaf) {
  const rows = [];
  for (let row = leaf; row >= 0; row = stacks.prefix[row]) rows.push(row);
  return rows.reverse();
}

/**
 * @param {Profile} profile
 * @param {{thread: number, ranges: number[][]}[]} lanes threads with their samples
 * @param {number|-1} leftOut value of samples.waiting that is not looked at
 * @param {number} fromNs what is seen
 * @param {number} toNs
 * @param {number} width pixels
 * @returns {{boxes: TimeBox[], headings: {row: number, thread: number}[]}}
 */
export function timeBoxes(profile, lanes, leftOut, fromNs, toNs, width) {
  const {stacks} = profile;
  const boxes = [];
  const headings = [];
  const perPixel = (toNs - fromNs) / width;
  let top = 0;
  for (const {thread, ranges} of lanes) {
    headings.push({row: top, thread});
    let deepest = 0;
    let open = [];  // boxes that may go on, by depth
    for (const [beginNs, endNs, leaf] of visible(profile, ranges, leftOut, fromNs, toNs, width)) {
      const rows = rowsOf(stacks, leaf);
      const touches = open.length !== 0 && beginNs - open[0].endNs < perPixel;
      let depth = 0;
      while (touches && depth < open.length && depth < rows.length &&
             stacks.func[rows[depth]] === open[depth].func) {
        open[depth++].endNs = endNs;
      }
      open = open.slice(0, depth);
      for (; depth < rows.length; ++depth) {
        const box = {x: 0, width: 0, row: top + 1 + depth, stack: rows[depth],
          func: stacks.func[rows[depth]], thread, beginNs, endNs, merged: 0};
        open.push(box);
        boxes.push(box);
      }
      deepest = Math.max(deepest, rows.length);
    }
    top += deepest + 1;
  }
  for (const box of boxes) {
    box.x = Math.max(0, (box.beginNs - fromNs) / perPixel);
    box.width = Math.min(width, (box.endNs - fromNs) / perPixel) - box.x;
  }
  return {boxes, headings};
}
