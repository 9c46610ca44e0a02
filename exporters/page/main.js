// Entry point: reads the profile in the page and shows it.

import {embeddedProfile} from "./data/decode.js";
import {followProcess} from "./live.js";
import {startPage} from "./page.js";

try {
  const start = document.getElementById("live") ? followProcess : startPage;
  start(await embeddedProfile(document));
} catch (error) {
  document.body.textContent = `This page's profile cannot be shown: ${error.message}`;
  throw error;
}
