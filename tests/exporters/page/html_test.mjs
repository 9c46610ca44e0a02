// profile.html as the exporter writes it, read as the page reads it: it must say what the report of
// the same profile says. WRITE_EXPORTS and PROFILE: see tests/exporters/write_exports.cpp.
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";

import {decode} from "../../../exporters/page/data/decode.js";
import {flatTable} from "../../../exporters/page/data/flat.js";
import {everything, weightsByStack} from "../../../exporters/page/data/selection.js";
import {callTree} from "../../../exporters/page/data/tree.js";

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "sampan-page-"));
execFileSync(process.env.WRITE_EXPORTS, [process.env.PROFILE, directory]);
const html = fs.readFileSync(path.join(directory, "profile.html"), "utf8");
const report = JSON.parse(fs.readFileSync(path.join(directory, "profile_overall.json"), "utf8"));
fs.rmSync(directory, {recursive: true});

const data = (id) => new RegExp(`id="${id}">([^<]*)</script>`).exec(html)[1];
const profile = await decode({header: data("profile-header"), columns: data("profile-columns")});
const ns = (seconds) => Math.round(seconds * 1e9);
const weights = weightsByStack(profile, everything());

test("the figures are the report's", () => {
  const {meta} = profile;
  assert.equal(meta.program, report.program);
  assert.equal(meta.startTime, report.start_time);
  assert.equal(meta.samples, report.samples);
  assert.equal(meta.sampledCpuNs, ns(report.sampled_cpu_s));
  assert.equal(meta.cpuNs, ns(report.cpu_s));
  assert.equal(meta.durationNs, ns(report.duration_s));
  assert.equal(meta.completeStacks, report.complete_stacks);
});

test("the threads are the report's", () => {
  const {threads, processes, samples} = profile;
  const ours = threads.map((thread, i) => [processes[thread.process].pid, thread.tid, thread.name,
    thread.sampledCpuNs, samples.ofThread[i + 1] - samples.ofThread[i]]);
  const theirs = report.threads.map((thread) =>
    [thread.pid, thread.tid, thread.name, ns(thread.sampled_cpu_s), thread.samples]);
  const byText = (a, b) => JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
  assert.deepEqual(ours.sort(byText), theirs.sort(byText));
});

test("the functions are the report's", () => {
  const table = flatTable(profile, weights);
  const {functions, strings, modules} = profile;
  const ours = Array.from(table.func, (func, i) => ({
    name: func < 0 ? "[unknown]" : strings[functions.name[func]],
    module: func < 0 || functions.module[func] < 0 ? "" : modules[functions.module[func]].path,
    file: func < 0 ? "" : strings[functions.file[func]],
    line: func < 0 ? 0 : functions.line[func],
    self: table.self[i], total: table.total[i],
    self_samples: table.selfSamples[i], total_samples: table.totalSamples[i]}));
  const theirs = report.functions.map(({self_s, total_s, ...row}) =>
    ({...row, self: ns(self_s), total: ns(total_s)}));
  const byName = (a, b) => a.name + a.file < b.name + b.file ? -1 : 1;
  assert.ok(ours.length > 5);
  assert.deepEqual(ours.sort(byName), theirs.sort(byName));
});

test("the call tree has all that the samples weigh", () => {
  const tree = callTree(profile, weights);
  assert.equal(tree.total[0], weights.ns.reduce((sum, value) => sum + value));
  assert.equal(tree.samples[0], report.samples);
});
