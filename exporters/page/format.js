// Numbers for people, in the style of the terminal report.

const kGrouped = new Intl.NumberFormat("en-US");  // toLocaleString() would make one for each number

/** Three digits of it, at least: 12.3, 123, 1.23. */
function digits(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

/** @param {number} ns */
export function duration(ns) {
  const size = Math.abs(ns);
  if (size === 0) return "0 s";
  if (size < 999.5) return `${ns.toFixed(0)} ns`;
  if (size < 999.5e3) return `${digits(ns / 1e3)} µs`;
  if (size < 999.5e6) return `${digits(ns / 1e6)} ms`;
  return `${digits(ns / 1e9)} s`;
}

// What weights count where they are no time: "cycles", "bytes"; they are kept in thousandths.
let unit = "";

/** Once, before a weight is shown. @param {string} name "" for time */
export function setUnit(name) {
  unit = name;
}

/** "1.23 ms", "4.56 M cycles", "789 kB" */
export function weight(value) {
  if (unit === "") return duration(value);
  let size = value / 1000;
  let prefix = 0;
  for (; Math.abs(size) >= 999.5 && prefix < 5; ++prefix) size /= 1000;
  const number = prefix === 0 ? size.toFixed(0) : digits(size);
  const letter = ["", "k", "M", "G", "T", "P"][prefix];
  return unit === "bytes" ? `${number} ${letter}B` : `${number} ${letter}${letter && " "}${unit}`;
}

/** A cell of a column: the same unit in every row, weightUnit(). */
export function weightCell(value) {
  return unit === "" ? (value / 1e9).toFixed(3) : count(Math.round(value / 1000));
}

export function weightUnit() {
  return unit === "" ? "s" : unit;
}

/** @param {number} share 0 to 1 */
export function percent(share) {
  if (!Number.isFinite(share)) return "–";
  const value = share * 100;
  return `${value !== 0 && Math.abs(value) < 0.1 ? value.toPrecision(1) : value.toFixed(1)} %`;
}

/**
 * " ± 1.2 %" behind a share. Nothing without an error: a wait was measured, and where all samples agree, there are too few
 * to tell.
 * @param {number} error of the share
 */
export function margin(error) {
  return error > 0 ? ` ± ${percent(error)}` : "";
}

/** @param {number} value an integer */
export function count(value) {
  return kGrouped.format(value);
}

export function counted(value, noun) {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/**
 * A function's name in fewer characters: without the arguments of functions and templates.
 * @param {string} name
 */
export function shortName(name) {
  let short = "";
  let depth = 0;
  const opening = {"<": ">", "(": ")"};
  for (let i = 0; i < name.length; ++i) {
    const sign = name[i];
    if (name.startsWith("operator", i) && !/\w/.test(name[i - 1] ?? "")) {
      const operator = /^operator\s*(\(\)|<=>|<<=?|>>=?|[<>]=?|->\*?)?/.exec(name.slice(i))[0];
      if (depth === 0) short += operator;
      i += operator.length - 1;
    } else if (sign in opening && short !== "") {
      if (depth++ === 0 && sign === "<") short += "<…>";
    } else if ((sign === ">" || sign === ")") && depth > 0) {
      --depth;
    } else if (depth === 0) {
      short += sign;
    }
  }
  return depth === 0 ? short.replace(/ const$/, "") : name;
}

/** @param {string} path */
export function fileName(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}
