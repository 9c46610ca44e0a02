// What was recorded, and how far it can be trusted.

import {h} from "../dom.js";
import {count, counted, duration, percent, weight} from "../format.js";

const kGoodCoverage = 0.9;
const kGoodStacks = 0.98;
const kMain = ["ran", "CPU", "samples"];  // where there is little room, besides what warns

function figure(name, value, {hint = "", warn = false} = {}) {
  return h("div", {class: `figure${warn ? " warn" : ""}${kMain.includes(name) ? " main" : ""}`, title: hint, "data-figure": name},
    h("dt", {}, name), h("dd", {}, value));
}

function figures({meta, threads, processes}) {
  const {cpuNs, sampledCpuNs, lost} = meta;
  const coverage = cpuNs > 0 ? sampledCpuNs / cpuNs : null;
  const losses = Object.entries(lost);
  const all = cpuNs == null ? threads.reduce((sum, {sampledCpuNs: onCpu, waitNs}) => sum + onCpu + waitNs, 0) : sampledCpuNs;
  return [
    meta.imported && meta.durationNs === 0 ? null : figure("ran", duration(meta.durationNs), {hint: "from the start of the session to its end"}),
    cpuNs == null ? null : figure("CPU", duration(cpuNs), {hint: "as the kernel accounted it"}),
    figure("threads", count(threads.length),
      {hint: processes.length === 1 ? "of one process" : `of ${count(processes.length)} processes`}),
    figure("samples", count(meta.samples), {hint: `carrying ${weight(all)}${cpuNs == null ? "" : " of CPU"}`}),
    cpuNs == null ? figure("sampled", weight(all), {hint: "what all samples stand for"}) : null,
    meta.rateHz === 0 ? null : figure("rate", meta.unit === "" ? `${Math.round(meta.achievedRateHz)} of ${meta.rateHz} Hz` : `${meta.rateHz} Hz`,
      {hint: meta.unit === "" ? `${meta.rates}, ${meta.achievedRateHz.toFixed(1)} Hz achieved, of each thread's CPU time` : meta.rates,
        warn: meta.unit === "" && meta.samples > 0 && meta.achievedRateHz < meta.lowestRateHz / 2}),
    meta.cost === "" ? null : figure("cost", meta.cost.match(/[\d.]+ %/)?.[0] ?? meta.cost, {hint: meta.cost}),
    meta.imported || cpuNs == null ? null : figure("coverage", coverage === null ? "unknown" : percent(coverage),
      {hint: "sampled CPU divided by true CPU", warn: coverage !== null && coverage < kGoodCoverage}),
    figure("complete stacks", meta.completeStacks == null ? "none" : percent(meta.completeStacks),
      {hint: "samples whose stack reaches the first function of its thread",
        warn: meta.completeStacks != null && meta.completeStacks < kGoodStacks}),
    figure("lost", losses.length === 0 ? "nothing" : count(losses.reduce((sum, [, n]) => sum + n, 0)),
      {hint: losses.map(([reason, n]) => `${reason}: ${count(n)}`).join("\n"), warn: losses.length !== 0}),
  ];
}

/** @param {HTMLElement} element @param {import("../data/profile.js").Profile} profile */
export function create(element, profile) {
  const {meta} = profile;
  const started = new Date(meta.startTime);
  const losses = Object.entries(meta.lost).map(([reason, n]) => `lost: ${reason}, ${count(n)}`);
  const remarks = [...meta.notes, ...losses];
  document.title = `${meta.program} – sampan`;
  element.replaceChildren(
    h("div", {class: "what"},
      h("h1", {}, meta.program),
      h("p", {class: "command", title: meta.command}, meta.command),
      h("p", {class: "started", title: meta.diff ? `A: ${meta.diff.a}\nB: ${meta.diff.b}` : null}, Number.isNaN(started.getTime()) ? "" :
        started.toISOString().replace("T", " ").slice(0, 19) + " UTC",
      meta.diff ? ` · A: ${meta.diff.a} · B: ${meta.diff.b}` : "")),
    h("dl", {class: "figures"}, ...figures(profile).filter((each) => each !== null)),
    remarks.length === 0 ? "" : h("details", {class: "notes"},
      h("summary", {}, counted(remarks.length, "note")), h("ul", {}, ...remarks.map((note) => h("li", {}, note)))));
  return {redraw() {}};
}
