// What a person does to the stacks (data/transforms.js): its words, its keys, its place in the address.

import {kSwitches} from "./data/transforms.js";

const kSigns = {focus: "f", drop: "d", merge: "m", library: "l", callers: "c", recursion: "r", system: "s", idle: "i"};
const kKinds = Object.fromEntries(Object.entries(kSigns).map(([kind, sign]) => [sign, kind]));
const kSaid = {
  focus: (name) => `only ${name} and what it calls`,
  callers: (name) => `only ${name} and who calls it`,
  drop: (name) => `without samples of ${name}`,
  merge: (name) => `${name} merged into its callers`,
  library: (name) => `${name} merged into its callers`,
};

/** "f12.s" @param {import("./data/transforms.js").Transform[]} transforms */
export function transformText(transforms) {
  return transforms.map(({kind, of}) => kSigns[kind] + (of ?? "")).join(".");
}

/** Those of the text that fit the profile. @returns {import("./data/transforms.js").Transform[]} */
export function transformsOf(text, {functions, modules}) {
  return text.split(".").flatMap((word) => {
    const [, sign, digits] = /^([a-z])(\d{0,9})$/.exec(word) ?? [];
    const kind = kKinds[sign];
    if (!kind) return [];
    if (kind in kSwitches) return digits === "" ? [{kind}] : [];
    const of = digits === "" ? Infinity : Number(digits);
    return of < (kind === "library" ? modules.length : functions.count) ? [{kind, of}] : [];
  });
}

/** What a transform does, in words. */
export function transformSaid({kind, of}, names, modules) {
  return kind in kSwitches ? `without ${kSwitches[kind]}` : kSaid[kind](kind === "library" ? modules[of].name : names.of(of));
}

// Paths mean something else in other stacks.
const kForgotten = {frame: [], zoom: [], span: [0, 1]};

/** @param {ReturnType<import("./state.js").createState>} state @param {import("./data/transforms.js").Transform} transform */
export function addTransform(state, transform) {
  state.set({transforms: [...state.get().transforms, transform], ...kForgotten});
}

export function removeTransform(state, index) {
  state.set({transforms: state.get().transforms.filter((_, i) => i !== index), ...kForgotten});
}

/** One of kSwitches: there, or not. */
export function switchTransform(state, kind) {
  const index = state.get().transforms.findIndex((each) => each.kind === kind);
  if (index < 0) addTransform(state, {kind});
  else removeTransform(state, index);
}
