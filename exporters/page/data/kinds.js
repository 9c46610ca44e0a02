// What the tracks of threads are coloured by: on CPU and the kinds of waits, or the library that was
// executed.

import {hueOf, moduleColor, moduleHues, moduleRanks, oklch, pythonColor, theme} from "./color.js";

const kMostKinds = 8;  // the rest are one kind

/**
 * @typedef {object} TrackKinds
 * @property {string} name "state" or "module"
 * @property {number} count
 * @property {number} onCpu the first so many are of CPU, the others are waits
 * @property {(sample: number) => number} of
 * @property {string[]} labels
 * @property {(dark: boolean) => string[]} colors
 */

// The heaviest of the leaves that `keyOf` knows, and a place for the rest.
function heaviest({samples, stacks}, keyOf, keys) {
  const weights = new Float64Array(keys);
  for (let i = 0; i < samples.count; ++i) {
    const key = samples.stack[i] < 0 ? -1 : keyOf(stacks.func[samples.stack[i]]);
    if (key >= 0) weights[key] += samples.weightNs[i];
  }
  return [...weights.keys()].filter((key) => weights[key] > 0).sort((a, b) => weights[b] - weights[a])
    .slice(0, kMostKinds);
}

const waitColor = (dark, i) => oklch(theme(dark).wait + (dark ? 0.05 : -0.02) * (i % 2), 0.035, 40 + hueOf(i));

function byState(profile) {
  const {samples, stacks, functions, strings} = profile;
  const waits = heaviest(profile, (func) => functions.wait[func] ? func : -1, functions.count);
  const place = new Map(waits.map((func, i) => [func, i + 1]));
  const other = waits.length + 1;
  return {
    name: "state", count: other + 1, onCpu: 1,
    of: (sample) => !samples.waiting[sample] ? 0 :
      samples.stack[sample] < 0 ? other : place.get(stacks.func[samples.stack[sample]]) ?? other,
    labels: [profile.meta.unit || "on CPU", ...waits.map((func) => strings[functions.name[func]]), "other waits"],
    colors: (dark) => [dark ? "#7f9bff" : "#4f74e3", ...waits.map((_, i) => waitColor(dark, i)), oklch(theme(dark).wait, 0.005, 80)],
  };
}

function byModule(profile) {
  const {samples, stacks, functions, modules} = profile;
  const ranks = moduleRanks(profile);
  const hues = moduleHues(profile);
  const libraries = [...modules.keys()].sort((a, b) => ranks[a] - ranks[b]).slice(0, kMostKinds);
  const place = new Map(libraries.map((module, i) => [module, i]));
  const [python, other, waits] = [libraries.length, libraries.length + 1, libraries.length + 2];
  const ofFunction = Uint8Array.from({length: functions.count}, (_, func) =>
    functions.python[func] ? python : place.get(functions.module[func]) ?? other);
  return {
    name: "module", count: waits + 1, onCpu: waits,
    of: (sample) => samples.waiting[sample] ? waits :
      samples.stack[sample] < 0 ? other : ofFunction[stacks.func[samples.stack[sample]]],
    labels: [...libraries.map((module) => modules[module].name), "Python", "other", "waits"],
    colors: (dark) => [...libraries.map((module) => moduleColor(hues[module], dark)), pythonColor(dark),
      theme(dark).merged, oklch(theme(dark).wait, 0.005, 80)],
  };
}

/** @param {import("./profile.js").Profile} profile @param {"state"|"module"} by @returns {TrackKinds} */
export function trackKinds(profile, by) {
  return by === "module" ? byModule(profile) : byState(profile);
}
