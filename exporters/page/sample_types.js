// What the samples of the page are: time on CPU and waiting, blocks of the heap, or waits for locks. The page carries a
// profile for each type; one of them is shown at a time, and the address says which.

import {carry} from "./carry.js";
import {embeddedProfile} from "./data/decode.js";
import {fragmentOf} from "./fragment.js";
import {startPage} from "./page.js";

/**
 * Shows the profile of the document, and another one whenever a person chooses it.
 * @param {import("./data/profile.js").Profile} first what the document shows at first
 * @param {import("./data/sources.js").Sources|null} sources
 */
export async function startSamples(first, sources) {
  const types = first.meta.sampleTypes;
  if (!types) return startPage(first, {sources});
  const profiles = new Map([[types.first, first]]);
  let page = null;
  let shown = null;  // the type

  // Threads are the same in all of them, and only the first has the markers.
  async function profileOf(type) {
    if (!profiles.has(type)) profiles.set(type, {...await embeddedProfile(document, type), markers: first.markers});
    return profiles.get(type);
  }
  function wanted() {
    const type = new URLSearchParams(location.hash.slice(1)).get("samples");
    return types.all.includes(type) ? type : types.first;
  }
  function open(type, profile) {
    page?.stop();
    shown = type;
    // The figures beside instructions are of the samples that the page was made for.
    page = startPage(profile, {sources: type === types.first ? sources : null, showSamples});
  }
  async function showSamples(type, state) {
    const profile = await profileOf(type);
    if (type === shown) return;
    const same = carry(page.state.get(), profiles.get(shown), profile);
    page.leave(fragmentOf({...same, selection: {...same.selection, state}}, profile));
    open(type, profile);
  }
  addEventListener("popstate", async () => {
    const profile = await profileOf(wanted());
    if (profile.meta.sampleTypes.shown === wanted() && wanted() !== shown) open(wanted(), profile);
  });
  open(wanted(), await profileOf(wanted()));
}
