// A small profile that is written out: truths known beforehand.
//
//   byHand([["main", [[1, 10, "main;work"], ...]], ...]): threads with samples of time, weight and
//   stack, root first; frames in brackets are waits, an empty stack is unknown.

import {noMarkers} from "../../../exporters/page/data/markers.js";

export function byHand(threads) {
  const names = [];
  const handle = (name) => {
    if (!names.includes(name)) names.push(name);
    return names.indexOf(name);
  };
  const rows = [];
  const rowOf = (stack) => {
    let prefix = -1;
    for (const name of stack === "" ? [] : stack.split(";")) {
      const func = handle(name);
      let row = rows.findIndex((other) => other.prefix === prefix && other.func === func);
      if (row < 0) row = rows.push({prefix, func}) - 1;
      prefix = row;
    }
    return prefix;
  };
  const samples = threads.flatMap(([, list]) => list.map(([timeNs, weightNs, stack]) =>
    ({timeNs, weightNs, stack: rowOf(stack), waiting: stack.endsWith("]") ? 1 : 0})));
  const ofThread = [0];
  for (const [, list] of threads) ofThread.push(ofThread.at(-1) + list.length);
  const column = (Type, list, key) => Type.from(list, (row) => row[key]);
  return {
    meta: {durationNs: 100},
    strings: names,
    modules: [],
    functions: {count: names.length, name: Uint32Array.from(names.keys()),
      file: new Uint32Array(names.length), line: new Uint32Array(names.length),
      module: new Int32Array(names.length).fill(-1),
      wait: Uint8Array.from(names, (name) => name.startsWith("[") ? 1 : 0),
      python: Uint8Array.from(names, (name) => name.endsWith(".py") ? 1 : 0)},
    stacks: {count: rows.length, prefix: column(Int32Array, rows, "prefix"),
      func: column(Uint32Array, rows, "func"), line: new Uint32Array(rows.length),
      inlined: new Uint8Array(rows.length)},
    processes: [{pid: 1, parent: 0, name: "program", exit: ""}],
    threads: threads.map(([name], i) => ({process: 0, tid: i + 1, name, isMain: i === 0, side: 0})),
    samples: {count: samples.length, ofThread: Uint32Array.from(ofThread),
      timeNs: column(Float64Array, samples, "timeNs"),
      weightNs: column(Float64Array, samples, "weightNs"),
      stack: column(Int32Array, samples, "stack"), waiting: column(Uint8Array, samples, "waiting"),
      taken: new Uint32Array(samples.length).fill(1)},
    markers: noMarkers(),
  };
}

// The call tree below a node: {function: [self, total, {children}]}.
export function asObject(profile, tree, node = 0) {
  return Object.fromEntries(tree.children(node).map((child) =>
    [profile.strings[tree.func[child]], [tree.self[child], tree.total[child],
      asObject(profile, tree, child)]]));
}
