// The list of threads as rows: processes, where there are several; pools, where a process has
// several threads of one; threads. A process of one thread is one row, and many that did next to
// nothing are one together. What a row stands for can be chosen as one.

/**
 * @typedef {object} ThreadRow
 * @property {"process"|"pool"|"thread"} kind
 * @property {number} depth
 * @property {string} name
 * @property {string} detail "tid 4711", "12 threads"
 * @property {number[]} threads
 * @property {string} key of the row, whatever is folded
 * @property {number} process
 */

const kShortShare = 0.01;  // of all CPU and waiting: a process of one thread with less is short
const kFewShort = 4;       // so many are rows of their own

function plural(count) {
  return `${count} thread${count === 1 ? "" : "s"}`;
}

function groupBy(items, keyOf) {
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item);
  }
  return groups;
}

/**
 * @param {import("./profile.js").Profile} profile
 * @param {{search?: string, folded?: Set<string>, without?: boolean[]|null}} options only threads whose name or tid has
 *   `search`; without one, rows below those with a key in `folded` are left out;
 *   so are threads that `without` has
 * @returns {ThreadRow[]}
 */
export function threadRows({threads, processes, meta}, {search = "", folded = new Set(), without = null} = {}) {
  const wanted = search.toLowerCase();
  const matches = ({name, tid}) => name.toLowerCase().includes(wanted) || `${tid}`.includes(wanted);
  const found = [...threads.keys()].filter((thread) => !without?.[thread] && matches(threads[thread]));
  const rows = [];
  const add = (kind, depth, name, detail, members, key, process) => {
    rows.push({kind, depth, name, detail, threads: members, key, process});
    return wanted !== "" || !folded.has(key);
  };
  const addThread = (thread, depth) =>
    add("thread", depth, threads[thread].name, `tid ${threads[thread].tid}`, [thread], `t${thread}`, threads[thread].process);

  const addProcess = (process, thread, depth) => {
    const {name, pid} = processes[process];
    const own = threads[thread].name;
    add("thread", depth, own === name || own === "" ? name : `${name} ${own}`, `pid ${pid}`, [thread], `t${thread}`, process);
  };
  // The threads of a comparison, by name: those of both sides are one row.
  if (threads.some(({side}) => side === 1)) {
    // Without the label that `sampan diff` puts before it.
    const labels = [meta?.diff?.a, meta?.diff?.b].map((label) => `${label}: `);
    const processOf = ({process, side}) => {
      const {name} = processes[process];
      return name.startsWith(labels[side]) ? name.slice(labels[side].length) : name;
    };
    const several = new Set(threads.map(processOf)).size > 1;
    const nameOf = (thread) => [...(several ? [processOf(threads[thread])] : []), threads[thread].name || "(no name)"];
    for (const [key, members] of groupBy(found, (thread) => [...new Set(nameOf(thread))].join(" "))) {
      const sides = ["A", "B"].map((label, side) => [label, members.filter((thread) => threads[thread].side === side).length])
        .filter(([, count]) => count > 0);
      const detail = sides.length === 1 ? `only ${sides[0][0]}` : sides.every(([, count]) => count === 1) ? "A and B" :
        sides.map(([label, count]) => `${label}: ${count}`).join(", ");
      if (!add("pool", 0, key, detail, members, `b${key}`, threads[members[0]].process)) continue;
      for (const thread of members) {
        add("thread", 1, `${"AB"[threads[thread].side]} ${threads[thread].name}`, `tid ${threads[thread].tid}`, [thread], `t${thread}`,
          threads[thread].process);
      }
    }
    return rows;
  }
  const sizes = groupBy(threads, ({process}) => process);
  const isAlone = (process) => sizes.get(process).length === 1;
  const weight = ({sampledCpuNs, waitNs}) => (sampledCpuNs ?? 0) + (waitNs ?? 0);
  const all = threads.reduce((sum, thread) => sum + weight(thread), 0);
  const byProcess = groupBy(found, (thread) => threads[thread].process);
  const short = [...byProcess].filter(([process, members]) => isAlone(process) && weight(threads[members[0]]) < kShortShare * all);
  const isShort = new Set(processes.length > 1 && short.length > kFewShort ? short.map(([process]) => process) : []);
  for (const [process, members] of byProcess) {
    if (isShort.has(process)) continue;
    let depth = 0;
    if (processes.length > 1 && isAlone(process)) {
      addProcess(process, members[0], 0);
      continue;
    }
    if (processes.length > 1) {
      const {name, pid} = processes[process];
      if (!add("process", 0, name, `pid ${pid}, ${plural(members.length)}`, members, `p${process}`, process)) continue;
      depth = 1;
    }
    const pools = groupBy(members, (thread) => threads[thread].isMain ? thread : threads[thread].pool);
    for (const [pool, ofPool] of pools) {
      if (ofPool.length === 1) {
        addThread(ofPool[0], depth);
      } else if (add("pool", depth, pool, plural(ofPool.length), ofPool, `p${process} ${pool}`, process)) {
        for (const thread of ofPool) addThread(thread, depth + 1);
      }
    }
  }
  if (isShort.size !== 0 && add("pool", 0, "short processes", `${isShort.size} of them`, short.flatMap(([, members]) => members), "short", -1)) {
    for (const [process, [thread]] of short) addProcess(process, thread, 1);
  }
  return rows;
}
