// Entry point: reads the profile in the page and shows it.

import {embeddedProfile} from "./data/decode.js";
import {embeddedSources} from "./data/sources.js";
import {followProcess} from "./live.js";
import {startSamples} from "./sample_types.js";

try {
  const [profile, sources] = await Promise.all([embeddedProfile(document), embeddedSources(document)]);
  if (document.getElementById("live")) followProcess(profile);
  else await startSamples(profile, sources);
} catch (error) {
  document.body.textContent = `This page's profile cannot be shown: ${error.message}`;
  throw error;
}
