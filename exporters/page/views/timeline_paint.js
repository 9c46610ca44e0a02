// How a timeline looks.

import {chartColors} from "./painter.js";

export function timelineColors(dark) {
  const {background, muted} = chartColors(dark);
  return dark
    ? {background, muted, text: "#e8eaee", line: "#30353f",
      event: "#e7a24a", counter: "#6f63a8",
      outside: "rgb(18 20 24 / 0.6)", edge: "#8fa8ff"}
    : {background, muted, text: "#1b1d22", line: "#dfe2e8",
      event: "#b86a00", counter: "#b9aee6",
      outside: "rgb(244 245 247 / 0.7)", edge: "#2f55d4"};
}

/**
 * @param {string[]} fills by kind
 * @param {Float64Array[]} parts by kind, one above the other
 * @param {number} most what is as high as the row
 * @param {{left: number, top: number, height: number, step: number}} place
 */
export function drawActivity(context, fills, parts, most, {left, top, height, step}) {
  const tops = new Float64Array(parts[0]?.length ?? 0).fill(top + height);
  parts.forEach((part, kind) => {
    context.fillStyle = fills[kind];
    for (let i = 0; i < part.length; ++i) {
      const size = Math.min(tops[i] - top, part[i] / most * height);
      if (!(size > 0)) continue;
      tops[i] -= size;
      context.fillRect(left + i * step, tops[i], step, size);
    }
  });
}

/** A line per CPU, and how many they are, in words, on a plate that keeps them readable over the bars. */
export function drawCpus(context, colors, cpus, text, {left, top, height, width}) {
  const each = Math.max(1, Math.ceil(cpus / 8));
  context.fillStyle = colors.line;
  for (let cpu = 0; cpu <= cpus; cpu += each) context.fillRect(left, top + height * (1 - cpu / cpus), width, 1);
  context.fillStyle = colors.background;
  context.fillRect(left, top + 1, context.measureText(text).width + 8, 15);
  context.fillStyle = colors.muted;
  context.fillText(text, left + 4, top + 12);
}

// 1, 2 or 5 times a power of ten: the least that leaves room for its labels.
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((factor) => power * factor >= least);
}

/** @param {[number, number]} seen ns */
export function drawAxis(context, colors, [fromNs, toNs], {width, height}) {
  if (!(toNs > fromNs)) return;
  const step = roundStep((toNs - fromNs) * 80 / Math.max(80, width));
  context.fillStyle = colors.muted;
  for (let time = Math.ceil(fromNs / step) * step; time < toNs; time += step) {
    const x = width * (time - fromNs) / (toNs - fromNs);
    context.fillRect(x, height - 4, 1, 4);
    context.fillText(axisLabel(time, step), x + 3, height - 5);
  }
}

// As many digits as neighbours need to differ.
function axisLabel(ns, step) {
  const [unit, name] = step >= 1e8 || ns >= 1e10 ? [1e9, "s"] : step >= 1e5 ? [1e6, "ms"] : [1e3, "µs"];
  return `${(ns / unit).toFixed(Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9)))} ${name}`;
}

export function drawRange(context, colors, from, to, {width, height}) {
  context.fillStyle = colors.outside;
  context.fillRect(0, 0, Math.max(0, from), height);
  context.fillRect(to, 0, Math.max(0, width - to), height);
  context.fillStyle = colors.edge;
  context.fillRect(from - 1, 0, 2, height);
  context.fillRect(to - 1, 0, 2, height);
}
