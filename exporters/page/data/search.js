// Which functions a pattern finds, and what share of the samples has one of them on the stack.

/** @typedef {import("./profile.js").Profile} Profile */

/**
 * A regular expression; letters of either case match unless the pattern has a capital.
 * @param {string} pattern
 * @returns {{expression: RegExp|null, error: string}} neither, for an empty pattern
 */
export function compile(pattern) {
  if (pattern === "") return {expression: null, error: ""};
  try {
    const capital = /[A-Z]/.test(pattern.replace(/\\./g, ""));
    return {expression: new RegExp(pattern, capital ? "u" : "iu"), error: ""};
  } catch (error) {
    return {expression: null, error: error.message.replace(/^Invalid regular expression: /, "")};
  }
}

/**
 * By function: 1 where its name matches.
 * @param {Profile} profile
 * @param {RegExp} expression
 */
export function matchingFunctions(profile, expression) {
  const {count, name} = profile.functions;
  const matches = new Uint8Array(count);
  for (let func = 0; func < count; ++func) {
    matches[func] = expression.test(profile.strings[name[func]]) ? 1 : 0;
  }
  return matches;
}

/**
 * By stack: 1 where one of its functions is marked.
 * @param {Profile} profile
 * @param {Uint8Array} marked by function
 */
export function stacksWith(profile, marked) {
  const {count, prefix, func} = profile.stacks;
  const found = new Uint8Array(count);
  for (let stack = 0; stack < count; ++stack) {
    found[stack] = marked[func[stack]] || (prefix[stack] >= 0 && found[prefix[stack]]) ? 1 : 0;
  }
  return found;
}

/**
 * What the samples weigh that have a marked function on the stack, each counted once.
 * @param {Profile} profile
 * @param {Uint8Array} marked by function
 * @param {{ns: Float64Array, samples: Uint32Array}} weights by stack
 */
export function weightWith(profile, marked, weights) {
  const found = stacksWith(profile, marked);
  let ns = 0;
  let samples = 0;
  for (let stack = 0; stack < found.length; ++stack) {
    if (!found[stack]) continue;
    ns += weights.ns[stack];
    samples += weights.samples[stack];
  }
  return {ns, samples};
}
