// Another page's file, dropped onto this one or chosen: the two become a comparison.

import {decode} from "./data/decode.js";
import {joined} from "./data/join.js";
import {fileName} from "./format.js";

/** The profile in a page's text. @param {string} text @returns {Promise<import("./data/profile.js").Profile>} */
async function profileIn(text) {
  const part = (id) => new RegExp(`<script type="application/octet-stream" id="${id}">([A-Za-z0-9+/=\\s]*)</script>`).exec(text)?.[1];
  const data = {header: part("profile-header"), columns: part("profile-columns")};
  if (data.header === undefined || data.columns === undefined) throw new Error("it is no profile.html of sampan");
  return decode(data);
}

/**
 * @param {import("./data/profile.js").Profile} a
 * @param {File} file
 * @returns {Promise<import("./data/profile.js").Profile>} the comparison. Throws an Error that says why not.
 */
export async function compareWith(a, file) {
  const b = await profileIn(await file.text());
  if (b.meta.diff) throw new Error("it is a comparison itself");
  const own = decodeURIComponent(fileName(location.pathname)) || a.meta.program;
  const started = ({meta}) => meta.startTime.replace("T", " ").slice(0, 19);
  return joined(a, b, {a: `${own}, ${started(a)}`, b: `${file.name}, ${started(b)}`});
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
