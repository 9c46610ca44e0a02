// Two profiles as the sides of one: a comparison. Functions are the same when their names, the names of
// their files and of their libraries are.

import {fileName} from "../format.js";

/** @typedef {import("./profile.js").Profile} Profile */

const joinedColumn = (a, b, change = (value) => value) => {
  const column = new a.constructor(a.length + b.length);
  column.set(a);
  for (let i = 0; i < b.length; ++i) column[a.length + i] = change(b[i]);
  return column;
};
const shifted = (by) => (value) => value < 0 ? value : value + by;

// Lists whose entries are the same when their keys are: the joined one, and where b's entries are in it.
function merged(a, b, keyOf) {
  const places = new Map(a.map((each, i) => [keyOf(each), i]));
  const all = [...a];
  const placeOf = b.map((each) => {
    const key = keyOf(each);
    if (!places.has(key)) places.set(key, all.push(each) - 1);
    return places.get(key);
  });
  return {all, placeOf};
}

function joinedFunctions(a, b, {strings, modules}) {
  const rowsOf = ({functions}, stringOf, moduleOf) => Array.from({length: functions.count}, (_, i) => ({
    name: stringOf(functions.name[i]), file: stringOf(functions.file[i]), line: functions.line[i],
    module: functions.module[i] < 0 ? -1 : moduleOf(functions.module[i]), wait: functions.wait[i], python: functions.python[i]}));
  const same = (handle) => handle;
  const {all, placeOf} = merged(rowsOf(a, same, same), rowsOf(b, (string) => strings.placeOf[string], (module) => modules.placeOf[module]),
    ({name, file, module}) => `${name} ${fileName(strings.all[file])} ${module}`);
  const functions = {count: all.length};
  for (const [name, column] of Object.entries(a.functions)) {
    if (name !== "count") functions[name] = column.constructor.from(all, (row) => row[name]);
  }
  return {functions, placeOf};
}

function joinedMarkers(a, b, threads, processes) {
  const texts = a.texts.length;
  const changes = {thread: shifted(threads), endThread: shifted(threads), process: shifted(processes),
    name: shifted(texts), text: shifted(texts)};
  const table = (name) => {
    const joined = {count: a[name].count + b[name].count};
    for (const [column, values] of Object.entries(a[name])) {
      if (column === "count") continue;
      const change = column === "parent" ? shifted(a[name].count) : changes[column];
      joined[column] = joinedColumn(values, b[name][column], change);
    }
    return joined;
  };
  return {texts: [...a.texts, ...b.texts], spans: table("spans"), sections: table("sections"), events: table("events"),
    counters: table("counters")};
}

function joinedMeta(a, b, labels) {
  const sum = (key) => a[key] + b[key];
  const of = (label, notes) => notes.map((note) => `${label}: ${note}`);
  return {...a, durationNs: Math.max(a.durationNs, b.durationNs), cpuNs: a.cpuNs == null || b.cpuNs == null ? null : sum("cpuNs"), sampledCpuNs: sum("sampledCpuNs"),
    samples: sum("samples"), notes: [...of("A", a.notes), ...of("B", b.notes)],
    completeStacks: (a.completeStacks * a.samples + b.completeStacks * b.samples) / Math.max(1, sum("samples")),
    lost: Object.fromEntries([...new Set([...Object.keys(a.lost), ...Object.keys(b.lost)])]
      .map((reason) => [reason, (a.lost[reason] ?? 0) + (b.lost[reason] ?? 0)])),
    diff: labels, sampleTypes: undefined};
}

/**
 * @param {Profile} a
 * @param {Profile} b
 * @param {{a: string, b: string}} labels
 * @returns {Profile}
 */
export function joined(a, b, labels) {
  const strings = merged(a.strings, b.strings, (text) => text);
  const modules = merged(a.modules, b.modules, ({name}) => name);
  const {functions, placeOf} = joinedFunctions(a, b, {strings, modules});
  const samples = {count: a.samples.count + b.samples.count,
    ofThread: joinedColumn(a.samples.ofThread, b.samples.ofThread.subarray(1), (first) => first + a.samples.count)};
  for (const name of ["timeNs", "weightNs", "waiting", "taken"]) samples[name] = joinedColumn(a.samples[name], b.samples[name]);
  samples.stack = joinedColumn(a.samples.stack, b.samples.stack, shifted(a.stacks.count));
  return {
    meta: joinedMeta(a.meta, b.meta, labels),
    strings: strings.all,
    modules: modules.all,
    functions,
    stacks: {count: a.stacks.count + b.stacks.count, prefix: joinedColumn(a.stacks.prefix, b.stacks.prefix, shifted(a.stacks.count)),
      func: joinedColumn(a.stacks.func, b.stacks.func, (func) => placeOf[func]),
      line: joinedColumn(a.stacks.line, b.stacks.line), inlined: joinedColumn(a.stacks.inlined, b.stacks.inlined)},
    processes: [...a.processes, ...b.processes],
    threads: [...a.threads.map((thread) => ({...thread, side: 0})),
      ...b.threads.map((thread) => ({...thread, side: 1, process: thread.process + a.processes.length}))],
    samples,
    markers: joinedMarkers(a.markers, b.markers, a.threads.length, a.processes.length),
  };
}
