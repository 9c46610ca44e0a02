// Another page's file, dropped onto this one or chosen: the two become a comparison. It is a step of the browser's
// history, which Back ends and Forward brings back.

import {decode} from "./data/decode.js";
import {joined} from "./data/join.js";
import {fileName} from "./format.js";

const typeOf = ({meta}) => meta.sampleTypes?.shown ?? "cpu";

/** The profile of samples of a type in a page's text. @param {string} text @returns {Promise<import("./data/profile.js").Profile>} */
async function profileIn(text, type) {
  const part = (id) => new RegExp(`<script type="application/octet-stream" id="${id}">([A-Za-z0-9+/=\\s]*)</script>`).exec(text)?.[1];
  const dataOf = (suffix) => ({header: part(`profile-header${suffix}`), columns: part(`profile-columns${suffix}`)});
  const isThere = ({header, columns}) => header !== undefined && columns !== undefined;
  const [data, first] = [dataOf(`-${type}`), dataOf("")];
  if (!isThere(first)) throw new Error("it is no profile.html of sampan");
  const profile = await decode(isThere(data) ? data : first);
  if (typeOf(profile) !== type) throw new Error("it does not have the samples that this page shows");
  return profile;
}

/**
 * @param {import("./data/profile.js").Profile} a
 * @param {File} file
 * @returns {Promise<import("./data/profile.js").Profile>} the comparison. Throws an Error that says why not.
 */
async function compareWith(a, file) {
  const b = await profileIn(await file.text(), typeOf(a));
  if (b.meta.diff) throw new Error("it is a comparison itself");
  if (b.meta.unit !== a.meta.unit) throw new Error(`it counts ${b.meta.unit || "time"}, and this page ${a.meta.unit || "time"}`);
  const own = decodeURIComponent(fileName(location.pathname)) || a.meta.program;
  const started = ({meta}) => meta.startTime.replace("T", " ").slice(0, 19);
  return joined(a, b, {a: `${own}, ${started(a)}`, b: `${file.name}, ${started(b)}`});
}

/**
 * The comparisons of a profile with files, until `signal`.
 * @param {import("./data/profile.js").Profile} profile
 * @param {(shown: import("./data/profile.js").Profile, comparison: number|null) => void} open called when another one is to
 *   be shown: a comparison, or null, the profile alone
 */
export function createComparisons(profile, open, signal) {
  const made = new Map();  // by their number, which the history knows
  let current = null;
  let making = 0;
  // After the page was loaded anew, the history has numbers of comparisons that are gone.
  const follow = () => {
    const wanted = made.has(history.state?.comparison) ? history.state.comparison : null;
    if (wanted === current) return;
    current = wanted;
    open(made.get(wanted) ?? profile, wanted);
  };
  addEventListener("popstate", follow, {signal});
  return {
    current: () => current,
    /** Whether one is being made: if the page ended now, it would be lost. */
    isMaking: () => making > 0,
    /** Throws an Error that says why not. @param {File} file @param {(comparison: number, joined: object) => void} step */
    async add(file, step) {
      making += 1;
      const comparison = await compareWith(profile, file).finally(() => { making -= 1; });
      if (signal.aborted) return;
      const number = Date.now();
      made.set(number, comparison);
      step(number, comparison);
      follow();
    },
  };
}

/** Files that are dropped on the page. @param {(file: File) => void} accept @param {AbortSignal} signal */
export function listenToDrops(accept, signal) {
  const hasFile = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => hasFile(event) && event.preventDefault(), {signal});
  addEventListener("drop", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    accept(event.dataTransfer.files[0]);
  }, {signal});
}
