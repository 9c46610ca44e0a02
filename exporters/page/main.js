// Entry point: reads the profile in the page and shows it.

import {embeddedProfile} from "./data/decode.js";
import {embeddedSources} from "./data/sources.js";
import {followProcess} from "./live.js";
import {startPage} from "./page.js";

try {
  const [profile, sources] = await Promise.all([embeddedProfile(document), embeddedSources(document)]);
  if (document.getElementById("live")) followProcess(profile);
  else startPage(profile, {sources});
} catch (error) {
  document.body.textContent = `This page's profile cannot be shown: ${error.message}`;
  throw error;
}
