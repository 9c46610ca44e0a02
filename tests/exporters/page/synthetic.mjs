// Profiles made up of numbers: of any size, and the same each time.

import {noMarkers} from "../../../exporters/page/data/markers.js";

// A generator of numbers in [0, 1), by Marsaglia's xorshift32.
function random(seed) {
  let state = seed | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4294967296;
  };
}

const kNames = ["std::vector<std::pair<int, char const*>>::push_back(std::pair<int, char const*>&&)",
  "operator<<(std::ostream&, \"text\" const&)", "main", "work", "parse<&lexer>", "读取文件"];
const kWaits = ["[read pipe]", "[epoll_wait]", "[futex]"];
const kModules = ["program", "libc.so.6", "libstdc++.so.6", "libcrypto.so.3"];

/**
 * @param {{threads?: number, processes?: number, samples?: number, stacks?: number,
 *          functions?: number, depth?: number, seconds?: number, waits?: boolean, seed?: number}} size
 * @returns {import("../../../exporters/page/data/profile.js").Profile}
 */
export function synthetic({threads = 8, processes = 1, samples = 4000, stacks = 500,
  functions = 120, depth = 30, seconds = 10, waits = true, seed = 1} = {}) {
  const next = random(seed);
  const below = (limit) => Math.floor(next() * limit);
  const strings = [""];
  const durationNs = seconds * 1e9;

  const names = [...kNames];
  while (names.length < functions) names.push(`namespace_${names.length % 7}::function_${names.length}`);
  const waitNames = waits ? kWaits : [];
  const functionCount = functions + waitNames.length;
  const table = {count: functionCount, name: new Uint32Array(functionCount),
    file: new Uint32Array(functionCount), line: new Uint32Array(functionCount),
    module: new Int32Array(functionCount).fill(-1), wait: new Uint8Array(functionCount),
    python: new Uint8Array(functionCount)};
  for (let i = 0; i < functionCount; ++i) {
    table.name[i] = strings.push(i < functions ? names[i] : waitNames[i - functions]) - 1;
    if (i >= functions) {
      table.wait[i] = 1;
      continue;
    }
    table.module[i] = i % kModules.length;
    if (i % 5 === 4) continue;  // without debug information
    table.file[i] = strings.push(`/usr/src/program/file_${i % 9}.cpp`) - 1;
    table.line[i] = 10 + i;
  }

  // Stacks grow from random ones before them, so that depths and shares differ widely.
  const nodes = {count: stacks, prefix: new Int32Array(stacks), func: new Uint32Array(stacks),
    line: new Uint32Array(stacks), inlined: new Uint8Array(stacks)};
  const depths = new Uint16Array(stacks);
  for (let i = 0; i < stacks; ++i) {
    let prefix = i === 0 ? -1 : Math.max(0, i - 1 - below(Math.min(i, 4 * depth)));
    while (prefix > 0 && (depths[prefix] >= depth || table.wait[nodes.func[prefix]])) {
      prefix = nodes.prefix[prefix];
    }
    nodes.prefix[i] = prefix;
    depths[i] = prefix < 0 ? 1 : depths[prefix] + 1;
    const wait = waits && i > 3 && next() < 0.1;
    nodes.func[i] = i === 0 ? 2 : wait ? functions + below(waitNames.length) : below(functions);
    nodes.line[i] = table.line[nodes.func[i]] === 0 ? 0 : table.line[nodes.func[i]] + below(30);
    nodes.inlined[i] = !wait && i !== 0 && next() < 0.15 ? 1 : 0;
  }

  const counts = new Uint32Array(threads);
  for (let i = 0; i < samples; ++i) ++counts[Math.floor(threads * next() ** 2)];
  const columns = {count: samples, ofThread: new Uint32Array(threads + 1),
    timeNs: new Float64Array(samples), weightNs: new Float64Array(samples),
    stack: new Int32Array(samples), waiting: new Uint8Array(samples),
    taken: new Uint32Array(samples).fill(1)};
  const list = [];
  let sampledCpuNs = 0;
  for (let t = 0; t < threads; ++t) {
    const first = columns.ofThread[t];
    const end = first + counts[t];
    columns.ofThread[t + 1] = end;
    const thread = {process: t % processes, tid: 4000 + t, name: t < processes ? "main" : `worker-${t}`,
      pool: t < processes ? "main" : "worker", isMain: t < processes, cpuNs: 0, sampledCpuNs: 0,
      waitNs: 0, startNs: 0, endNs: durationNs, side: 0};
    const gap = durationNs / (counts[t] + 1);
    for (let i = first; i < end; ++i) {
      const stack = next() < 0.01 ? -1 : Math.floor(stacks * next());
      columns.timeNs[i] = Math.round((i - first + 0.5 + next() / 2) * gap);
      columns.stack[i] = stack;
      columns.waiting[i] = stack >= 0 ? table.wait[nodes.func[stack]] : 0;
      columns.weightNs[i] = Math.round(gap * (columns.waiting[i] ? 1 : 0.3 + 0.5 * next()));
      if (columns.waiting[i]) thread.waitNs += columns.weightNs[i];
      else thread.sampledCpuNs += columns.weightNs[i];
    }
    thread.cpuNs = Math.round(thread.sampledCpuNs * 1.02);
    sampledCpuNs += thread.sampledCpuNs;
    list.push(thread);
  }
  const cpuNs = list.reduce((sum, thread) => sum + thread.cpuNs, 0);

  return {
    meta: {program: "program", command: "./program --fast 'a b'", startTime: "2026-11-20T20:00:00Z",
      durationNs, unit: "", imported: false, hasTimes: true, clock: waits ? "wall" : "cpu", rateHz: 100, rates: "100 Hz asked", lowestRateHz: 100,
      cost: "0.012 s of CPU, 0.50 % of the program's: 0.20 % in it, 0.30 % sampan", achievedRateHz: 97.5, cpuNs,
      sampledCpuNs, samples, completeStacks: 0.998, lost: {"ring full": 3}, notes: [], diff: null},
    strings,
    modules: kModules.map((name) => ({name, path: `/usr/lib/${name}`})),
    functions: table,
    stacks: nodes,
    processes: Array.from({length: processes}, (_, i) => ({pid: 4000 + i, parent: 1,
      name: i === 0 ? "program" : `child ${i}`, exit: "status 0"})),
    threads: list,
    samples: columns,
    markers: noMarkers(),
  };
}

/**
 * The two sides of a comparison: every other thread is of side b, and there `work` is the leaf of
 * a third of the samples that had another.
 * @param {Parameters<typeof synthetic>[0]} size
 */
export function compared(size = {}) {
  const profile = synthetic(size);
  const {samples, stacks, functions, strings} = profile;
  const work = functions.name.findIndex((name) => strings[name] === "work");
  const stack = stacks.func.indexOf(work);
  profile.meta.diff = {a: "before", b: "after"};
  profile.threads.forEach((thread, index) => {
    thread.side = index % 2;
    if (thread.side === 0) return;
    for (let i = samples.ofThread[index]; i < samples.ofThread[index + 1]; i += 3) {
      samples.stack[i] = stack;
      samples.waiting[i] = 0;
    }
  });
  return profile;
}
