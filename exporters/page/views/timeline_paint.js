// How a timeline looks.

import {chartColors} from "./painter.js";
import {duration} from "../format.js";

export function timelineColors(dark) {
  const {background, muted} = chartColors(dark);
  return dark
    ? {background, muted, text: "#e8eaee", line: "#30353f", cpu: "#7f9bff", waiting: "#4a505c",
      event: "#e7a24a", counter: "#6f63a8",
      outside: "rgb(18 20 24 / 0.6)", edge: "#8fa8ff"}
    : {background, muted, text: "#1b1d22", line: "#dfe2e8", cpu: "#4f74e3", waiting: "#d3d5da",
      event: "#b86a00", counter: "#b9aee6",
      outside: "rgb(244 245 247 / 0.7)", edge: "#2f55d4"};
}

/**
 * @param {import("../data/activity.js").Activity} activity its waiting may be null
 * @param {number} most what is as high as the row
 * @param {{left: number, top: number, height: number, step: number}} place
 */
export function drawActivity(context, colors, {cpu, waiting}, most, {left, top, height, step}) {
  const bottom = top + height;
  for (let i = 0; i < cpu.length; ++i) {
    const x = left + i * step;
    const used = Math.min(1, cpu[i] / most) * height;
    const waited = waiting === null ? 0 : Math.min(height - used, Math.min(1, waiting[i] / most) * height);
    if (waited > 0) {
      context.fillStyle = colors.waiting;
      context.fillRect(x, bottom - used - waited, step, waited);
    }
    if (used > 0) {
      context.fillStyle = colors.cpu;
      context.fillRect(x, bottom - used, step, used);
    }
  }
  context.fillStyle = colors.line;
  context.fillRect(left, bottom, step * cpu.length, 1);
}

// 1, 2 or 5 times a power of ten: the least that leaves room for its labels.
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((factor) => power * factor >= least);
}

export function drawAxis(context, colors, durationNs, {left, width, height}) {
  if (!(durationNs > 0)) return;
  const step = roundStep(durationNs * 80 / Math.max(80, width - left));
  context.fillStyle = colors.muted;
  for (let time = 0; time < durationNs; time += step) {
    const x = left + (width - left) * time / durationNs;
    context.fillRect(x, height - 4, 1, 4);
    context.fillText(duration(time), x + 3, height - 5);
  }
}

export function drawRange(context, colors, from, to, {left, width, height}) {
  context.fillStyle = colors.outside;
  context.fillRect(left, 0, Math.max(0, from - left), height);
  context.fillRect(to, 0, Math.max(0, width - to), height);
  context.fillStyle = colors.edge;
  context.fillRect(from - 1, 0, 2, height);
  context.fillRect(to - 1, 0, 2, height);
}
