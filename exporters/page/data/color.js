// Colours: one hue per module, the same in every recording; yellow for Python, grey for waits; by thread; red and blue for what grew and shrank.
//
// Chosen in OKLCH (B. Ottosson, "A perceptual color space for image processing", 2020), where equal
// lightness looks equally light: so every hue carries the same text, in either theme.

/** @typedef {import("./profile.js").Profile} Profile */

const kHues = [55, 250, 150, 330, 200, 290, 20, 175, 125];  // far from each other, in this order
// Hues of libraries, none of which is the program's or Python's; those that nearly every program has differ.
const kLibraryHues = [250, 150, 330, 200, 290, 20, 175, 125, 225, 310];
const kKnownHues = {__proto__: null, libc: 250, libsampan_preload: 150, "libstdc++": 330, libm: 200, "ld-linux-x86-64": 290, libpthread: 225};
const kMostApart = 8;  // of the heaviest libraries: fewer than hues
const kGoldenAngle = 137.508;
const kPythonHue = 98, kPythonChroma = 1.4;  // yellow, and stronger than modules are

/** The hue of the nth busiest thread. @param {number} rank */
export function hueOf(rank) {
  return kHues[rank] ?? (rank * kGoldenAngle) % 360;
}

/**
 * @param {number} lightness 0..1
 * @param {number} chroma 0 is grey; about 0.1 is a soft colour
 * @param {number} hue degrees
 * @returns {string} #rrggbb
 */
export function oklch(lightness, chroma, hue) {
  const a = chroma * Math.cos(hue * Math.PI / 180);
  const b = chroma * Math.sin(hue * Math.PI / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return "#" + linear.map((value) => {
    const clipped = Math.min(1, Math.max(0, value));
    const encoded = clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * clipped ** (1 / 2.4) - 0.055;
    return Math.round(255 * encoded).toString(16).padStart(2, "0");
  }).join("");
}

const kThemes = {
  light: {box: [0.83, 0.085], text: "#1b1d22", wait: 0.82, neutral: 0.9, faint: [0.935, 0.018],
    match: [0.75, 0.17, 345], merged: "#a9adb6", background: "#ffffff"},
  dark: {box: [0.45, 0.075], text: "#f2f3f5", wait: 0.4, neutral: 0.34, faint: [0.285, 0.015],
    match: [0.55, 0.19, 345], merged: "#5b616d", background: "#1b1e24"},
};

/** Lightness and text of boxes. @param {boolean} dark */
export function theme(dark) {
  return dark ? kThemes.dark : kThemes.light;
}

// Nanoseconds of each module's own functions.
function moduleWeights({samples, stacks, functions, modules}) {
  const weights = new Float64Array(modules.length);
  for (let sample = 0; sample < samples.count; ++sample) {
    if (samples.stack[sample] < 0) continue;
    const module = functions.module[stacks.func[samples.stack[sample]]];
    if (module >= 0) weights[module] += samples.weightNs[sample];
  }
  return weights;
}

/** Modules by rank: the one that most CPU was spent in is 0. @param {Profile} profile */
export function moduleRanks(profile) {
  const weights = moduleWeights(profile);
  const ranks = new Uint32Array(weights.length);
  [...weights.keys()].sort((a, b) => weights[b] - weights[a])
    .forEach((module, rank) => { ranks[module] = rank; });
  return ranks;
}

// 32 bits of a name, by FNV-1a.
function hashOf(name) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; ++i) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

const libraryOf = (name) => name.replace(/[-.]\d[\d.]*(?=\.so|$)|\.so.*$/g, "");
const libraryHue = (library) => kKnownHues[library] ?? kLibraryHues[hashOf(library) % kLibraryHues.length];

// Hues of the heaviest libraries, no two the same. Where two names have one, the known or else the first by name keeps it; the
// other has the next that is of none of them.
function heaviestHues(libraries) {
  const own = libraries.map(libraryHue);
  const taken = new Set();
  const hues = new Map();
  for (const library of libraries.toSorted((a, b) => (b in kKnownHues) - (a in kKnownHues) || (a < b ? -1 : 1))) {
    let hue = libraryHue(library);
    let place = kLibraryHues.indexOf(hue);
    while (taken.has(hue) || (hue !== libraryHue(library) && own.includes(hue))) hue = kLibraryHues[++place % kLibraryHues.length];
    taken.add(hue);
    hues.set(library, hue);
  }
  return hues;
}

/**
 * The hue of each module, degrees: from its name without version, so that a library has the same in every recording, but for
 * one of the heaviest that shares it with another of them. The program's own has the first.
 * @param {Profile} profile
 */
export function moduleHues(profile) {
  const {modules, meta} = profile;
  const program = (meta.program ?? "").replace(/.*\//, "");
  const weights = moduleWeights(profile);
  const heaviest = [...weights.keys()].filter((module) => weights[module] > 0 && modules[module].name !== program)
    .sort((a, b) => weights[b] - weights[a]).map((module) => libraryOf(modules[module].name));
  const hues = heaviestHues([...new Set(heaviest)].slice(0, kMostApart));
  return modules.map(({name}) => name === program ? kHues[0] : hues.get(libraryOf(name)) ?? libraryHue(libraryOf(name)));
}

/**
 * Colors of functions, by module, and one for Python; neighbours in one module differ a little in lightness.
 * @param {Profile} profile
 * @param {boolean} dark
 * @returns {(func: number) => string}
 */
export function functionColors(profile, dark) {
  const {functions} = profile;
  const {box: [lightness, chroma], wait} = theme(dark);
  const hues = moduleHues(profile);
  const colors = new Array(functions.count);
  return (func) => {
    if (func < 0) return oklch(wait, 0.005, 80);  // all of it, or unknown
    return colors[func] ??= functions.wait[func] ? oklch(wait, 0.005, 80) :
      functions.python[func] ? pythonColor(dark, func) :
      functions.module[func] < 0 ? oklch(lightness, 0.02, 80) :
      oklch(lightness + shadeOf(func), chroma, hues[functions.module[func]]);
  };
}

// So much lighter is a function than others of its colour.
const shadeOf = (func) => ((func * 7) % 5 - 2) * 0.013;

/** The color of Python's functions; for a legend without a function. */
export function pythonColor(dark, func = 0) {
  const {box: [lightness, chroma]} = theme(dark);
  return oklch(lightness + shadeOf(func), kPythonChroma * chroma, kPythonHue);
}

/** The color of a module with this hue, for a legend. */
export function moduleColor(hue, dark) {
  return oklch(...theme(dark).box, hue);
}

/** The color of a thread by its place among the busiest; -1: none of these. */
export function threadColor(rank, dark) {
  const {box: [lightness, chroma], wait} = theme(dark);
  return rank < 0 ? oklch(wait, 0.005, 80) : oklch(lightness, chroma, hueOf(rank));
}

/**
 * The color of a change: red grew, blue shrank; the stronger, the more of it is new or gone.
 * @param {number} before share
 * @param {number} after share
 */
export function changeColor(before, after, dark) {
  const {box: [lightness, chroma], neutral} = theme(dark);
  const change = before + after === 0 ? 0 : (after - before) / (before + after);
  const strength = Math.min(1, 2 * Math.abs(change));
  return oklch(neutral + (lightness - 0.04 - neutral) * strength, 1.6 * chroma * strength,
    change > 0 ? 25 : 255);
}
