// A served page (sampan serve) follows its process: it fetches newer data every few seconds and keeps
// the current selection. It does not update while the user types or drags.

import {carry} from "./carry.js";
import {decode} from "./data/decode.js";
import {h} from "./dom.js";
import {fragmentOf} from "./fragment.js";
import {startPage} from "./page.js";

const kEveryS = 5;
const kScrollers = "#threads *, #view *, #timeline *";

function secondsBetween(search) {
  const asked = Number.parseFloat(new URLSearchParams(search).get("every") ?? "");
  return asked >= 1 ? asked : kEveryS;
}

// Scroll positions in document order: the page is rebuilt in the same order.
function scrolled() {
  return Array.from(document.querySelectorAll(kScrollers)).map(({scrollTop, scrollLeft}) => [scrollTop, scrollLeft]);
}

function scrollTo(places) {
  document.querySelectorAll(kScrollers).forEach((element, i) => {
    const [top, left] = places[i] ?? [0, 0];
    if (top) element.scrollTop = top;
    if (left) element.scrollLeft = left;
  });
}

/** @param {import("./data/profile.js").Profile} first what the page carries */
export function followProcess(first) {
  let profile = first;
  let page = null;
  let isFollowing = true;
  let isDragging = false;
  const button = h("button", {"data-action": "live", class: "toggle", onclick() {
    isFollowing = !isFollowing;
    draw();
  }});
  const draw = (text = "Live") => {
    button.textContent = text;
    button.title = isFollowing ? "shows what is new; click to hold still" : "holds still; click to follow the process";
    button.setAttribute("aria-pressed", isFollowing);
    document.querySelector("#toolbar .tools").prepend(button);
  };
  const open = () => startPage(profile, {onOpen: (opened) => opened.isCompared() || draw()});
  const isBusy = () => document.hidden || isDragging || page.isComparing() || document.activeElement?.matches("input, select") ||
    document.querySelector("dialog[open], .menu[open], .frame-menu:not([hidden])") !== null;

  const show = (newer) => {
    const shown = carry(page.state.get(), profile, newer);
    const places = scrolled();
    page.stop();
    history.replaceState(history.state, "", `#${fragmentOf(shown, newer)}`);
    profile = newer;
    page = open();
    scrollTo(places);
  };
  const ask = async () => {
    if (isFollowing && !isBusy()) {
      try {
        const answer = await fetch(`page-data${location.search}`);
        if (!answer.ok) throw new Error((await answer.text()).trim());
        const newer = await decode(await answer.json());
        if (isFollowing && !isBusy()) show(newer);
      } catch (error) {
        isFollowing = false;
        draw(`Not live: ${error.message}`);
      }
    }
    setTimeout(ask, 1000 * secondsBetween(location.search));
  };
  addEventListener("pointerdown", () => { isDragging = true; }, true);
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { isDragging = false; }, true);
  page = open();
  setTimeout(ask, 1000 * secondsBetween(location.search));
}
