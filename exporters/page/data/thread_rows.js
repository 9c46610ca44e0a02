// The list of threads as rows: processes, where there are several; pools, where a process has
// several threads of one; threads. What a row stands for can be chosen as one.

/**
 * @typedef {object} ThreadRow
 * @property {"process"|"pool"|"thread"} kind
 * @property {number} depth
 * @property {string} name
 * @property {string} detail "tid 4711", "12 threads"
 * @property {number[]} threads
 * @property {string} key of the row, whatever is folded
 */

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
 * @param {{search?: string, folded?: Set<string>}} options only threads whose name or tid has
 *   `search`; rows below those with a key in `folded` are left out
 * @returns {ThreadRow[]}
 */
export function threadRows({threads, processes}, {search = "", folded = new Set()} = {}) {
  const wanted = search.toLowerCase();
  const matches = ({name, tid}) => name.toLowerCase().includes(wanted) || `${tid}`.includes(wanted);
  const found = [...threads.keys()].filter((thread) => matches(threads[thread]));
  const rows = [];
  const add = (kind, depth, name, detail, members, key) => {
    rows.push({kind, depth, name, detail, threads: members, key});
    return !folded.has(key);
  };
  const addThread = (thread, depth) =>
    add("thread", depth, threads[thread].name, `tid ${threads[thread].tid}`, [thread], `t${thread}`);

  const byProcess = groupBy(found, (thread) => threads[thread].process);
  for (const [process, members] of byProcess) {
    let depth = 0;
    if (processes.length > 1) {
      const {name, pid} = processes[process];
      if (!add("process", 0, name, `pid ${pid}, ${plural(members.length)}`, members, `p${process}`)) continue;
      depth = 1;
    }
    const pools = groupBy(members, (thread) => threads[thread].isMain ? thread : threads[thread].pool);
    for (const [pool, ofPool] of pools) {
      if (ofPool.length === 1) {
        addThread(ofPool[0], depth);
      } else if (add("pool", depth, pool, plural(ofPool.length), ofPool, `p${process} ${pool}`)) {
        for (const thread of ofPool) addThread(thread, depth + 1);
      }
    }
  }
  return rows;
}
