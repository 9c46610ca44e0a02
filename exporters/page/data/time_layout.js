// The places of frames in time: the stacks of each thread side by side, as they were sampled. A frame that
// continues from sample to sample is one box.
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

// Adds a sample's time to those of the samples before it. What they have is theirs: a wait that was
// noticed after a moment on CPU lies around that moment.
function place(seen, beginNs, endNs, stack) {
  let first = seen.length;
  while (first > 0 && seen[first - 1].endNs > beginNs) --first;
  const within = seen.splice(first);
  let at = beginNs;
  for (const other of within) {
    if (other.beginNs > at) seen.push({beginNs: at, endNs: other.beginNs, stack});
    seen.push(other);
    at = Math.max(at, other.endNs);
  }
  if (endNs > at) seen.push({beginNs: at, endNs, stack});
}

// The samples that are seen, at most one per column, by time.
function visible({samples}, ranges, leftOut, fromNs, toNs, width) {
  const perColumn = kColumnPixels * (toNs - fromNs) / width;
  const seen = [];
  let column = -1;
  for (const [first, end] of ranges) {
    for (let i = first; i < end; ++i) {
      if (samples.waiting[i] === leftOut || samples.stack[i] < 0) continue;
      const endNs = samples.timeNs[i];
      const beginNs = endNs - samples.weightNs[i];
      if (endNs <= fromNs || beginNs >= toNs) continue;
      const at = Math.floor((endNs - fromNs) / perColumn);
      const before = seen.at(-1);
      if (at !== column || !before || endNs - beginNs >= perColumn) {
        place(seen, beginNs, endNs, samples.stack[i]);
      } else {
        if (endNs - beginNs > before.endNs - before.beginNs) before.stack = samples.stack[i];
        before.endNs = Math.max(before.endNs, endNs);
      }
      column = at;
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
    for (const {beginNs, endNs, stack} of visible(profile, ranges, leftOut, fromNs, toNs, width)) {
      const rows = rowsOf(stacks, stack);
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
