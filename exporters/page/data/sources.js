// The sources and instructions that the page may carry (exporters/page_sources.h), and the time of
// a function's lines.

import {inflatedText} from "./decode.js";

/**
 * @typedef {object} Sources
 * @property {{file: string, pieces: {first: number, lines: string[]}[]}[]} files
 * @property {{name: string, module: string, file: string, line: number,
 *   code: [string, string, number, number, number, number][]}[]} functions
 */

/** @returns {Promise<Sources|null>} null: the page has none */
export async function embeddedSources(document) {
  const element = document.getElementById("profile-sources");
  return element === null ? null : JSON.parse(await inflatedText(element.textContent));
}

/** The source of a function of the profile; undefined where the page does not have it. @param {Sources} sources */
export function sourceOf(sources, {functions, strings, modules}, func) {
  const module = functions.module[func] < 0 ? "" : modules[functions.module[func]].name;
  return sources.functions.find((each) => each.name === strings[functions.name[func]] &&
    each.file === strings[functions.file[func]] && (each.module === module || functions.python[func] === 1));
}

/**
 * Self and total of a function by line, in the selection; 0: the line is not known. A line counts
 * once per sample in its total.
 * @param {import("./profile.js").Profile} profile
 * @param {{ns: Float64Array, samples: Uint32Array}} weights by stack
 * @returns {Map<number, {self: number, total: number, samples: number}>}
 */
export function timeByLine({stacks: {count, prefix, func, line}}, weights, wanted) {
  const total = weights.ns.slice(0, count);
  for (let row = count - 1; row >= 0; --row) {
    if (prefix[row] >= 0) total[prefix[row]] += total[row];
  }
  const lines = new Map();
  for (let row = 0; row < count; ++row) {
    if (func[row] !== wanted || total[row] === 0) continue;
    if (!lines.has(line[row])) lines.set(line[row], {self: 0, total: 0, samples: 0});
    const own = lines.get(line[row]);
    own.self += weights.ns[row];
    own.samples += weights.samples[row];
    let above = prefix[row];
    while (above >= 0 && (func[above] !== wanted || line[above] !== line[row])) above = prefix[above];
    if (above < 0) own.total += total[row];
  }
  return lines;
}
