// The page: its parts, what they share, and when they are drawn.

import {copyText} from "./clipboard.js";
import {createComparisons, listenToDrops} from "./comparison.js";
import {hasLocks} from "./data/locks.js";
import {createDerived} from "./derived.js";
import {beforeNextFrame, h} from "./dom.js";
import {followAddress, fragmentOf} from "./fragment.js";
import {setUnit} from "./format.js";
import {listenToKeys} from "./keyboard.js";
import {createFrameActions} from "./frame_actions.js";
import {createNames} from "./names.js";
import {createState, initially} from "./state.js";
import {create as createCallTree} from "./views/call_tree.js";
import {create as createDetails} from "./views/details.js";
import {createFrameMenu} from "./views/frame_menu.js";
import {create as createHeader} from "./views/header.js";
import {createHelp} from "./views/help.js";
import {create as createLocksView} from "./views/locks_view.js";
import {create as createMarkersView} from "./views/markers_view.js";
import {createPainter, isDark} from "./views/painter.js";
import {create as createSandwich} from "./views/sandwich.js";
import {create as createSource} from "./views/source.js";
import {create as createStatus} from "./views/status.js";
import {create as createSunburst} from "./views/sunburst.js";
import {create as createTable} from "./views/table.js";
import {create as createTimeOrder} from "./views/time_order.js";
import {create as createToolbar, invert, kViews, nextTheme, showView} from "./views/toolbar.js";
import {createSpoken} from "./views/spoken.js";
import {createSplit} from "./views/split.js";
import {create as createTimeline} from "./views/timeline.js";
import {createTooltip} from "./views/tooltip.js";
import {create as createTreeChart} from "./views/tree_chart.js";
import {create as createWorkers, hasWorkers} from "./views/workers.js";

const kViewModules = {flame: createTreeChart, icicle: createTreeChart, leftheavy: createTreeChart,
  timeorder: createTimeOrder, sunburst: createSunburst, sandwich: createSandwich,
  tree: createCallTree, source: createSource, table: createTable, markers: createMarkersView, workers: createWorkers, locks: createLocksView};
const kSaidMs = 4000;
const kOfTracks = ["seen", "trackBy"];  // what only the tracks show
const kParts = ["header", "toolbar", "timeline", "split-tracks", "view", "status", "split-details", "details"];

// A line that says what was done, and disappears.
function createSay() {
  const element = h("div", {class: "said", role: "status", hidden: true});
  document.body.append(element);
  let timer = null;
  return (text) => {
    element.textContent = text;
    element.hidden = false;
    clearTimeout(timer);
    timer = setTimeout(() => { element.hidden = true; }, kSaidMs);
  };
}

function createActions({profile, state, address, say, help}) {
  return {
    back: () => address.back() || say("this is where it began"),
    reset: () => state.set({...initially(profile), view: state.get().view, theme: state.get().theme,
      colorBy: state.get().colorBy, sort: state.get().sort, trackBy: state.get().trackBy, fold: state.get().fold}),
    async copyLink() {
      const link = address.link();
      say(link === null ? "a link cannot bring back a file that was dropped; sampan diff --html makes a page of both" :
        await copyText(link) ? "copied a link to what is shown" : "could not copy the link");
    },
    endComparison: address.endComparison,
    help: help.toggle,
    unzoom: () => state.set({zoom: [], span: [0, 1]}),
  };
}

/** One view at a time; each is made when it is first shown. */
function createViews(element, profile, state, context) {
  const made = new Map();
  return {
    redraw() {
      const {view} = state.get();
      if ((view === "source" && context.sources === null) || (view === "workers" && !hasWorkers(profile)) ||
          (view === "locks" && !hasLocks(profile))) return state.set({view: "table"});
      const create = kViewModules[state.get().view];
      element.setAttribute("aria-labelledby", `tab-${state.get().view}`);
      if (!made.has(create)) {
        const pane = h("div", {class: "pane"});
        element.append(pane);
        made.set(create, {pane, view: create(pane, profile, state, context)});
      }
      for (const [maker, {pane}] of made) pane.hidden = maker !== create;
      context.tooltip.show(null);
      made.get(create).view.redraw();
    },
  };
}

/**
 * Shows a profile in the document (index.html), alone or compared with the files that are dropped onto it.
 * @param {import("./data/profile.js").Profile} profile
 * @param {object} [more]
 * @param {import("./data/sources.js").Sources|null} [more.sources]
 * @param {((type: string, state: string) => void)|null} [more.showSamples] shows other samples of the page, on CPU, waiting or
 *   all; null: it has no others
 * @param {(page: object) => void} [more.onOpen] called when it is shown, and again after a comparison
 */
export function startPage(profile, {sources = null, showSamples = null, onOpen = () => {}} = {}) {
  const ended = new AbortController();
  let shown = null;
  const comparisons = createComparisons(profile, (next, comparison) => {
    shown?.stop();
    open(next, comparison);
  }, ended.signal);
  // The comparison looks as the page did, and shows all of both.
  async function compare(file, {state, address, say, signal}) {
    try {
      await comparisons.add(file, (number, joined) => {
        if (signal.aborted) return;  // the person went elsewhere
        const {view, theme, fold} = state.get();
        address.compare(number, fragmentOf({...initially(joined), view, theme, fold}, joined));
      });
    } catch (error) {
      say(`${file.name}: ${error.message}`);
    }
  }
  const page = {
    get state() { return shown.state; },
    get derived() { return shown.derived; },
    /** A step of the history to what another page shows. @param {string} fragment */
    leave: (fragment) => shown.leave(fragment),
    isCompared: () => comparisons.current() !== null,
    isComparing: () => comparisons.isMaking() || comparisons.current() !== null,
    /** Leaves the document as it was, for another profile. */
    stop() {
      ended.abort();
      shown.stop();
    },
  };
  function open(next, comparison) {
    shown = openPage(next, {sources, comparison, compare, showSamples: comparison === null ? showSamples : null});
    onOpen(page);
  }
  open(profile, null);
  return page;
}

function openPage(profile, {sources, comparison, compare, showSamples}) {
  setUnit(profile.meta.unit);
  const part = (id) => document.getElementById(id);
  const state = createState(profile);
  const ended = new AbortController();
  const {signal} = ended;
  const before = new Set(document.body.children);
  const address = followAddress(state, profile, window, {signal, comparison});
  const say = createSay();
  const derived = createDerived(profile, state);
  const names = createNames(profile);
  const actions = createActions({profile, state, address, say, help: createHelp()});
  actions.showSamples = showSamples;
  actions.compare = (file) => compare(file, {state, address, say, signal});
  listenToDrops(actions.compare, signal);
  const frameActions = createFrameActions(profile, state, {names, say, sources});
  const tooltip = createTooltip();
  const context = {sources, comparison, derived, names, say, actions, frameActions, tooltip, signal,
    menu: createFrameMenu(frameActions, names, tooltip, signal), painter: createPainter(profile, derived, state)};
  const timeline = createTimeline(part("timeline"), profile, state, context);
  context.hidden = timeline.hidden;
  context.status = createStatus(part("status"), profile, state, context);
  const toolbar = createToolbar(part("toolbar"), profile, state, context);
  const details = createDetails(part("details"), profile, state, context);
  const parts = [createHeader(part("header"), profile), toolbar,
    timeline,
    createViews(part("view"), profile, state, context), context.status, details, createSpoken(state, context)];

  const isWide = () => getComputedStyle(part("below")).flexDirection === "row";
  createSplit(part("split-tracks"), {name: "tracks", label: "Height of the tracks", target: part("timeline"), towards: 1,
    isUpright: () => false}, signal);
  createSplit(part("split-details"), {name: "details", label: "Size of the details", target: part("details"), towards: -1,
    isUpright: isWide}, signal);

  let drawn = null;
  const redraw = () => {
    const shown = state.get();
    document.documentElement.dataset.theme = isDark(shown) ? "dark" : "light";
    const isOfTracks = drawn !== null && Object.keys(shown).every((key) => kOfTracks.includes(key) || shown[key] === drawn[key]);
    const changed = drawn === shown || !isOfTracks ? parts : [timeline];
    drawn = shown;
    for (const each of changed) each.redraw();
  };
  const soon = beforeNextFrame(redraw);
  state.subscribe(soon);
  redraw();  // a view that this profile does not have becomes another one
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", soon, {signal});

  listenToKeys({
    ...Object.fromEntries(kViews.map(([view], i) => [String(i + 1), () => showView(state, view)])),
    "/": toolbar.focusSearch,
    "?": actions.help,
    ...Object.fromEntries([..."fmxc"].map((key) => [key, () => frameActions.run(key)])),
    z: () => state.set({fold: !state.get().fold}),
    i: () => invert(state),
    t: () => nextTheme(state),
    l: actions.copyLink,
    "0": actions.unzoom,
    Escape: actions.unzoom,
    Backspace: actions.back,
  }, {signal});
  return {
    state,
    derived,
    leave: address.leave,
    stop() {
      ended.abort();
      for (const element of [...document.body.children]) {
        if (!before.has(element)) element.remove();
      }
      for (const id of kParts) part(id).replaceChildren();
    },
  };
}
