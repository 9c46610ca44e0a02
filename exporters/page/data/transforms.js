// What is done to the stacks before anything is derived from them: parts of them are left out or
// joined. The result is a profile like any other, with the same functions and threads.

/** @typedef {import("./profile.js").Profile} Profile */

/**
 * @typedef {object} Transform
 * @property {"focus"|"drop"|"merge"|"library"|"callers"|"recursion"|"system"|"idle"} kind
 * @property {number} [of] the function, or of "library" the module
 */

const kDropped = -2;  // instead of a row: samples with it are left out

/** Kinds that are there or not, whatever is chosen. */
export const kSwitches = {idle: "threads that only wait", system: "system libraries' frames", recursion: "repeated frames of recursion"};

const kSystem = /^(\/usr)?\/lib(32|64|x32|exec)?\/|^\[|libsampan_preload\.so$/;

/** By function: 1 where it belongs to the system. Python's functions and waits never do. @param {Profile} profile */
export function systemFunctions({functions, modules}) {
  const isSystem = modules.map(({path}) => kSystem.test(path));
  return Uint8Array.from({length: functions.count}, (_, func) =>
    functions.wait[func] || functions.python[func] ? 0 : isSystem[functions.module[func]] ? 1 : 0);
}

const kHardlyAny = 0.001;  // CPU of a thread that only waits, of its time

/** By thread: whether it only waited. In a profile of waits for locks no thread counts as idle. @param {Profile} profile */
export function idleThreads({samples, threads, locks}) {
  return threads.map((_, thread) => {
    const ns = [0, 0];
    for (let i = samples.ofThread[thread]; i < samples.ofThread[thread + 1]; ++i) ns[samples.waiting[i]] += samples.weightNs[i];
    return locks === undefined && ns[1] > 0 && ns[0] < kHardlyAny * (ns[0] + ns[1]);
  });
}

// New rows of stacks; a row that is not made is joined to its caller's.
function createRows({stacks}) {
  const made = {prefix: [], func: [], line: [], inlined: []};
  const children = new Map();
  return {
    made,
    add(prefix, old) {
      const key = `${prefix} ${stacks.func[old]} ${stacks.line[old]}`;
      let row = children.get(key);
      if (row === undefined) {
        row = made.func.length;
        children.set(key, row);
        made.prefix.push(prefix);
        for (const column of ["func", "line", "inlined"]) made[column].push(stacks[column][old]);
      }
      return row;
    },
  };
}

// What becomes of a row, when its caller has become `above`: a new row, `above` itself, or kDropped.
const kRules = {
  drop: (profile, {of}, rows) => (old, above) => profile.stacks.func[old] === of ? kDropped : rows.add(above, old),
  merge: (profile, {of}, rows) => (old, above) => profile.stacks.func[old] === of ? above : rows.add(above, old),
  library: ({stacks, functions}, {of}, rows) => (old, above) =>
    functions.module[stacks.func[old]] === of && !functions.wait[stacks.func[old]] && !functions.python[stacks.func[old]] ? above : rows.add(above, old),
  system(profile, _, rows) {
    const isSystem = systemFunctions(profile);
    return (old, above) => isSystem[profile.stacks.func[old]] ? above : rows.add(above, old);
  },
  recursion: ({stacks}, _, rows) => (old, above) => {
    for (let row = above; row >= 0; row = rows.made.prefix[row]) {
      if (rows.made.func[row] === stacks.func[old]) return row;
    }
    return rows.add(above, old);
  },
};

function throughRule(profile, transform) {
  const {stacks} = profile;
  const rows = createRows(profile);
  const rule = kRules[transform.kind](profile, transform, rows);
  const rowOf = new Int32Array(stacks.count);
  for (let old = 0; old < stacks.count; ++old) {
    const above = stacks.prefix[old] < 0 ? -1 : rowOf[stacks.prefix[old]];
    rowOf[old] = above === kDropped ? kDropped : rule(old, above);
  }
  return {rows, rowOf};
}

// Below the outermost frame of a function.
function below(profile, {of}) {
  const {stacks} = profile;
  const rows = createRows(profile);
  const rowOf = new Int32Array(stacks.count);
  for (let old = 0; old < stacks.count; ++old) {
    const above = stacks.prefix[old] < 0 ? kDropped : rowOf[stacks.prefix[old]];
    rowOf[old] = above !== kDropped ? rows.add(above, old) : stacks.func[old] === of ? rows.add(-1, old) : kDropped;
  }
  return {rows, rowOf};
}

// Down to the innermost frame of a function.
function above(profile, {of}) {
  const {stacks} = profile;
  const rows = createRows(profile);
  const whole = new Int32Array(stacks.count);   // the row itself
  const rowOf = new Int32Array(stacks.count);   // where its samples go
  for (let old = 0; old < stacks.count; ++old) {
    const prefix = stacks.prefix[old];
    whole[old] = rows.add(prefix < 0 ? -1 : whole[prefix], old);
    rowOf[old] = stacks.func[old] === of ? whole[old] : prefix < 0 ? kDropped : rowOf[prefix];
  }
  return {rows, rowOf};
}

function withRows(profile, {rows: {made}, rowOf}, dropsUnknown) {
  const {stacks} = profile;
  const columns = Object.fromEntries(Object.entries(made).map(([name, values]) => [name, stacks[name].constructor.from(values)]));
  return withSamples({...profile, stacks: {count: made.func.length, ...columns}}, profile.samples,
    (sample, stack) => stack < 0 ? (dropsUnknown ? kDropped : -1) : rowOf[stack]);
}

// The samples with other stacks, without those that are dropped.
function withSamples(profile, samples, stackOf) {
  const {ofThread, stack} = samples;
  const kept = [];
  const stacks = [];
  const next = new Uint32Array(ofThread.length);
  for (let thread = 0; thread + 1 < ofThread.length; ++thread) {
    for (let i = ofThread[thread]; i < ofThread[thread + 1]; ++i) {
      const now = stackOf(i, stack[i], thread);
      if (now === kDropped) continue;
      kept.push(i);
      stacks.push(now);
    }
    next[thread + 1] = kept.length;
  }
  const column = (values) => values.constructor.from(kept, (i) => values[i]);
  return {...profile, samples: {count: kept.length, ofThread: next, stack: Int32Array.from(stacks), timeNs: column(samples.timeNs),
    weightNs: column(samples.weightNs), waiting: column(samples.waiting), taken: column(samples.taken)}};
}

/**
 * @param {Profile} profile
 * @param {Transform[]} transforms one after the other
 * @returns {Profile} the same one, where there are none
 */
export function transformed(profile, transforms) {
  return transforms.reduce((current, transform) => {
    if (transform.kind === "idle") {
      const idle = idleThreads(current);
      return withSamples(current, current.samples, (_, stack, thread) => idle[thread] ? kDropped : stack);
    }
    if (transform.kind === "focus") return withRows(current, below(current, transform), true);
    if (transform.kind === "callers") return withRows(current, above(current, transform), true);
    return withRows(current, throughRule(current, transform), false);
  }, profile);
}
