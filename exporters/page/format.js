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

/** Of a column: the same unit in every row. */
export function seconds(ns) {
  return (ns / 1e9).toFixed(3);
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
