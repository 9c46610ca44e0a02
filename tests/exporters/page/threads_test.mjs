import assert from "node:assert/strict";
import test from "node:test";

import {activityBy, cpuScale, createActivities, mostOf, weightsByThread} from "../../../exporters/page/data/activity.js";
import {threadRows} from "../../../exporters/page/data/thread_rows.js";
import {drawCpus} from "../../../exporters/page/views/timeline_paint.js";
import {byHand} from "./by_hand.mjs";
import {synthetic} from "./synthetic.mjs";

// Of 100 ns: main is on CPU from 10 to 30, waits to 60; the other is on CPU from 55 to 65.
const waitOrNot = ({samples}) => ({name: "state", count: 2, of: (sample) => samples.waiting[sample]});
function activity(profile, threads, slices, range) {
  const [cpu, waiting] = activityBy(profile, threads, slices, waitOrNot(profile), range);
  return {cpu, waiting};
}

const profile = byHand([
  ["main", [[30, 20, "main;work"], [60, 30, "main;[read]"]]],
  ["other", [[65, 10, "work"]]],
]);

test("a sample's time ends with it and is as long as it weighs", () => {
  const {cpu, waiting} = activity(profile, null, 10);
  assert.deepEqual([...cpu], [0, 1, 1, 0, 0, 0.5, 0.5, 0, 0, 0]);
  assert.deepEqual([...waiting], [0, 0, 0, 1, 1, 1, 0, 0, 0, 0]);
  assert.deepEqual([...activity(profile, [1], 2).cpu], [0, 0.2]);
});

test("threads that share CPUs do not use more than there are", () => {
  const samples = [20, 40, 60, 80, 100].map((time) => [time, 10, "work"]);
  const shared = byHand(["a", "b", "c", "d"].map((name) => [name, samples]));  // on two CPUs
  assert.deepEqual([...activity(shared, null, 10).cpu], new Array(10).fill(2));
  const once = byHand([["a", [[10, 10, "work"], [90, 10, "work"]]]]);  // it slept
  assert.deepEqual([...activity(once, null, 10).cpu], [1, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
});

test("several samples taken for one begin where the first of them began", () => {
  const merged = byHand([["main", [[30, 20, "work"]]]]);
  merged.samples.taken[0] = 2;  // of 10 each, the first at 30
  assert.deepEqual([...activity(merged, null, 10).cpu], [0, 0, 1, 1, 0, 0, 0, 0, 0, 0]);
});

test("activity has the weight of its samples, however it is sliced", () => {
  const large = synthetic({threads: 4, samples: 3000});
  const weight = large.threads[1].sampledCpuNs;
  for (const slices of [1, 7, 500]) {
    const sum = activity(large, [1], slices).cpu.reduce((a, b) => a + b);
    assert.ok(Math.abs(sum * large.meta.durationNs / slices / weight - 1) < 0.05);
  }
});

test("a part of the time is what it is in all of it", () => {
  const large = synthetic({threads: 3, samples: 3000, seconds: 1});
  const whole = activity(large, null, 1000);
  const part = activity(large, null, 100, [0.4e9, 0.5e9]);
  for (const column of ["cpu", "waiting"]) {
    part[column].forEach((value, i) => assert.ok(Math.abs(value - whole[column][400 + i]) < 1e-6, `${column} ${i}`));
  }
  assert.deepEqual([...activity(profile, [0], 3, [28, 61]).waiting], [9 / 11, 1, 10 / 11], "a wait that begins before and ends within");
  assert.deepEqual([...activity(profile, [0], 1, [35, 45]).waiting], [1], "a wait that ends after it");
});

test("many samples are looked at once, and say the same", () => {
  const large = synthetic({threads: 2, samples: 60000});
  const kinds = waitOrNot(large);
  const activities = createActivities(large);
  const whole = [0, large.meta.durationNs];
  const [cpu] = activities.get("all", null, 256, kinds, whole);
  const [exact] = activityBy(large, null, 256, kinds, whole);
  cpu.forEach((value, i) => assert.ok(Math.abs(value - exact[i]) < 1e-9, `${i}: ${value} where ${exact[i]} is right`));
  assert.equal(activities.get("all", null, 256, kinds, whole)[0], cpu, "kept while nothing changes");
});

test("the scale of CPUs is what was in use, and never more than the machine has", () => {
  assert.deepEqual(cpuScale([[0.5, 0.5], [0.1, 0.8]], 8), {cpus: 2, text: "2 of 8 CPUs"});
  assert.deepEqual(cpuScale([[0, 3.4]], 2), {cpus: 2, text: "2 of 2 CPUs"});
  assert.deepEqual(cpuScale([[0], [0]], 1), {cpus: 1, text: "1 of 1 CPU"});
  assert.deepEqual(cpuScale([], 1), {cpus: 1, text: "1 of 1 CPU"});
  assert.deepEqual(cpuScale([[3.4]], null), {cpus: 4, text: "4 CPUs"});
  assert.deepEqual(cpuScale([[1.04]], null), {cpus: 1, text: "1 CPU"});
});

test("the words of the scale are readable over bars", () => {
  const drawn = [];
  drawCpus({
    measureText: (text) => ({width: 6 * text.length}),
    fillRect(x, y, width, height) { drawn.push({fill: this.fillStyle, x, y, right: x + width, bottom: y + height}); },
    fillText(text, x, y) { drawn.push({fill: this.fillStyle, x, y: y - 9, right: x + 6 * text.length, bottom: y + 3}); },
  }, {line: "grey", background: "white", muted: "black"}, 2, "2 of 8 CPUs", {left: 10, top: 20, height: 40, width: 300});
  const [plate, words] = drawn.slice(-2);
  assert.deepEqual([plate.fill, words.fill], ["white", "black"]);
  assert.ok(plate.x <= words.x && plate.y <= words.y && plate.right >= words.right && plate.bottom >= words.bottom);
});

test("threads weigh what their samples in the range weigh", () => {
  const {cpu, waiting} = weightsByThread(profile, {fromNs: 31, toNs: Infinity});
  assert.deepEqual([[...cpu], [...waiting]], [[0, 10], [30, 0]]);
});

const thread = (process, tid, name, pool, isMain) => ({process, tid, name, pool, isMain});
const processes = [{pid: 7, name: "server"}, {pid: 8, name: "child"}];
const threads = [thread(0, 7, "server", "server", true), thread(0, 70, "io-1", "io", false),
  thread(0, 71, "gc", "gc", false), thread(0, 72, "io-2", "io", false), thread(1, 8, "child", "child", true)];
const shown = (rows) => rows.map((row) => `${" ".repeat(row.depth)}${row.name}: ${row.threads}`);

test("rows are processes, pools of several, and threads", () => {
  assert.deepEqual(shown(threadRows({threads, processes})),
    ["server: 0,1,2,3", " server: 0", " io: 1,3", "  io-1: 1", "  io-2: 3", " gc: 2", "child: 4"]);
  assert.deepEqual(shown(threadRows({threads: threads.slice(0, 3), processes: [processes[0]]})),
    ["server: 0", "io-1: 1", "gc: 2"]);
});

test("rows can be folded and found by name and tid", () => {
  const pool = threadRows({threads, processes}).find((row) => row.kind === "pool");
  assert.deepEqual(shown(threadRows({threads, processes}, {folded: new Set([pool.key, "p1"])})),
    ["server: 0,1,2,3", " server: 0", " io: 1,3", " gc: 2", "child: 4"]);
  assert.deepEqual(shown(threadRows({threads, processes}, {search: "IO-"})),
    ["server: 1,3", " io: 1,3", "  io-1: 1", "  io-2: 3"]);
  assert.deepEqual(shown(threadRows({threads, processes}, {search: "71"})), ["server: 2", " gc: 2"]);
});

test("many processes that did next to nothing are one row", () => {
  const process = (pid) => ({...thread(pid, pid, "sh", "sh", true), sampledCpuNs: 1, waitNs: 0});
  const many = {threads: [{...process(0), name: "work", sampledCpuNs: 1e6}, ...[1, 2, 3, 4, 5].map(process)],
    processes: [{pid: 0, name: "work"}, ...[1, 2, 3, 4, 5].map((pid) => ({pid, name: "sh"}))]};
  assert.deepEqual(shown(threadRows(many)).slice(0, 2), ["work: 0", "short processes: 1,2,3,4,5"]);
  assert.deepEqual(shown(threadRows(many, {folded: new Set(["short"])})).length, 2);
  assert.equal(threadRows({...many, threads: many.threads.slice(0, 4)}).length, 4, "few are rows of their own");
});

test("threads of a comparison are matched by name, whatever the labels of its sides", () => {
  const side = (of, tid, name) => ({...thread(of, tid, name, name, false), side: of});
  const both = {meta: {diff: {a: "before", b: "after"}}, processes: [{pid: 1, name: "before: app"}, {pid: 2, name: "after: app"}],
    threads: [side(0, 1, "main"), side(0, 3, "gone"), side(1, 2, "main"), side(1, 4, "new")]};
  assert.deepEqual(threadRows(both, {folded: new Set(["bmain", "bgone", "bnew"])}).map(({name, detail, threads: of}) => [name, detail, of]),
    [["main", "A and B", [0, 2]], ["gone", "only A", [1]], ["new", "only B", [3]]]);
});

test("what is not time is of the moment of its sample", () => {
  const heap = byHand([["a", [[5, 1000, "main"], [95, 500, "main"]]], ["b", [[99, 7, "main"]]]]);
  heap.meta.unit = "bytes";
  const kinds = {count: 1, of: () => 0};
  assert.deepEqual([...activityBy(heap, null, 10, kinds)[0]], [100, 0, 0, 0, 0, 0, 0, 0, 0, 50.7]);
  assert.deepEqual([...activityBy(heap, [1], 2, kinds, [90, 100])[0]], [0, 1.4]);
  assert.equal(mostOf([[1, 2], [4, 0]]), 5);
});
