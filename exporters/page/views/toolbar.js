// The controls: which view, which way round, coloured by what, and the search. What is needed rarely is in the menu where the
// window has no room for it beside the others.

import {hasLocks} from "../data/locks.js";
import {kSwitches} from "../data/transforms.js";
import {h} from "../dom.js";
import {switchTransform} from "../transforms.js";
import {create as createSearchBox} from "./search_box.js";
import {hasWorkers} from "./workers.js";

export const kViews = [
  ["flame", "Flame", "callers below, by name"],
  ["icicle", "Icicle", "callers above, by name"],
  ["leftheavy", "Left heavy", "heaviest first"],
  ["timeorder", "Time order", "samples side by side in time"],
  ["sunburst", "Sunburst", "callers in the middle"],
  ["sandwich", "Sandwich", "callers and callees of one function"],
  ["tree", "Tree", "rows that unfold, with self, total and when"],
  ["table", "Table", "all functions, sortable"],
  ["markers", "Markers", "spans, sections, events, counters and waits, with percentiles"],
  ["workers", "Workers", "ranks, hosts or processes beside each other, over time"],
  ["source", "Source", "lines and instructions of the chosen function, with their time"],
  ["locks", "Locks", "which were waited for, by whom, and who held them"],
];
const kInvertible = ["flame", "icicle", "leftheavy", "sunburst", "tree"];
const kThemes = {auto: "light", light: "dark", dark: "auto"};  // what comes after each
const kThemeSigns = {auto: ["◐", "as the system"], light: ["☀", "light"], dark: ["☾", "dark"]};

/** What changes with the view: paths of frames mean something else when the tree is turned round. */
export function showView(state, view) {
  const turned = state.get().inverted && (view === "timeorder") !== (state.get().view === "timeorder");
  state.set({view, zoom: [], span: [0, 1], ...(turned ? {frame: []} : {})});
}

export function invert(state) {
  const {inverted, view} = state.get();
  if (!kInvertible.includes(view)) return;
  state.set({inverted: !inverted, zoom: [], span: [0, 1], frame: []});
}

export function nextTheme(state) {
  state.set({theme: kThemes[state.get().theme]});
}

function select(label, options, onChange) {
  const field = h("select", {"aria-label": label, onchange: () => onChange(field.value)},
    ...options.map(([value, text]) => h("option", {value}, text)));
  return field;
}

const kOtherSamples = {live: "Heap (live)", allocated: "Heap (allocated)", locks: "Locks"};

// Which samples are shown: those on CPU, those that wait, or what else the page has; null where there is one kind only.
function createSamples(profile, state, showSamples) {
  const types = showSamples ? profile.meta.sampleTypes : {shown: "cpu", all: [], waits: profile.samples.waiting.includes(1)};
  const options = [...(types.waits ? [["all", "CPU and waits"], ["cpu", "On CPU"], ["waiting", "Waiting"]] : [["all", "CPU"]]),
    ...types.all.filter((type) => type in kOtherSamples).map((type) => [type, kOtherSamples[type]])];
  if (options.length === 1) return null;
  const field = select("Samples", options, (value) => {
    if (value in kOtherSamples) showSamples(value, "all");
    else if (types.shown !== "cpu") showSamples("cpu", value);
    else state.set({selection: {...state.get().selection, state: value}});
  });
  return {field, isOften: types.all.length > 1, redraw(shown) {
    field.value = types.shown === "cpu" ? shown.selection.state : types.shown;
  }};
}

function viewTabs(state, views) {
  const tabs = views.map(([view, name, hint], i) => h("button", {role: "tab", id: `tab-${view}`,
    "data-view": view, title: i < 9 ? `${hint} (${i + 1})` : hint, "aria-controls": "view",
    onclick: () => showView(state, view)}, name));
  const list = h("div", {class: "tabs", role: "tablist", "aria-label": "View", onkeydown(event) {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
  }}, ...tabs);
  return {list, redraw(view) {
    for (const tab of tabs) {
      const chosen = tab.dataset.view === view;
      tab.setAttribute("aria-selected", chosen);
      tab.tabIndex = chosen ? 0 : -1;
      if (chosen) tab.scrollIntoView({block: "nearest", inline: "nearest"});
    }
  }};
}

// What is left out of the stacks, as check boxes, and room for more.
function createMenu(state) {
  const check = (kind, text, isOn, change) => ({isOn,
    box: h("input", {type: "checkbox", "data-switch": kind, "aria-label": text, onchange: change}), text});
  const items = [
    check("fold", "fold chains of one call each (z)", (shown) => shown.fold, () => state.set({fold: !state.get().fold})),
    ...Object.entries(kSwitches).map(([kind, text]) => check(kind, `hide ${text}`,
      (shown) => shown.transforms.some((each) => each.kind === kind), () => switchTransform(state, kind))),
  ];
  const more = h("div", {class: "menu-tools", onclick(event) {
    if (!event.target.closest("button")) return;
    menu.open = false;
    menu.firstChild.focus();
  }});
  const menu = h("details", {class: "menu", onkeydown(event) {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.firstChild.focus();
    event.preventDefault();
  }, onfocusout(event) {
    if (event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
  }}, h("summary", {"data-action": "menu"}, "More"),
  h("div", {class: "menu-items"}, ...items.map(({box, text}) => h("label", {}, box, text)), more));
  return {menu, more, redraw(shown) {
    for (const {box, isOn} of items) box.checked = isOn(shown);
    menu.toggleAttribute("data-active", shown.transforms.some(({kind}) => kind in kSwitches));
  }};
}

/**
 * @param {HTMLElement} element
 * @param {object} context
 * @param {{back: Function, copyLink: Function, help: Function, reset: Function}} context.actions
 */
export function create(element, profile, state, context) {
  const {actions} = context;
  const tabs = viewTabs(state, kViews.filter(([view]) =>
    (view !== "source" || context.sources !== null) && (view !== "timeorder" || profile.meta.hasTimes) && (view !== "workers" || hasWorkers(profile)) && (view !== "locks" || hasLocks(profile))));
  const button = (action, text, label, title) => h("button", {"data-action": action, title,
    class: text === label ? "" : "sign", "aria-label": label, onclick: () => actions[action]()}, text);
  const inverted = h("button", {"data-action": "invert", class: "toggle", title: "from where the time was spent (i)",
    onclick: () => invert(state)}, "Inverted");
  const color = select("Colour by", [["module", "By library"], ["thread", "By thread"],
    ...(profile.meta.diff ? [["diff", "By change"]] : [])], (colorBy) => state.set({colorBy}));
  const samples = createSamples(profile, state, actions.showSamples);
  const menu = createMenu(state);
  const theme = h("button", {"data-action": "theme", class: "sign", onclick: () => nextTheme(state)});
  const search = h("div", {class: "search"});
  const file = h("input", {type: "file", accept: ".html", hidden: true, "aria-label": "Page to compare with",
    onchange: () => file.files.length && actions.compare(file.files[0])});
  const rare = [color, samples?.isOften ? null : samples?.field, h("button", {"data-action": "compare", class: "sign", "aria-label": "Compare", onclick: () => file.click(),
    title: "compare with another profile.html, which can also be dropped here"}, "A/B"),
  button("copyLink", "Link", "Copy link", "copy a link to what is shown now (l)"), theme,
  button("reset", "Reset", "Reset", "zoom, threads, time, search and what was done to the stacks")].filter(Boolean);
  const tools = h("div", {class: "tools"});
  element.append(tabs.list, file, h("div", {class: "tools"}, samples?.isOften ? samples.field : null, inverted, menu.menu), search, tools,
    h("div", {class: "tools"}, button("back", "←", "Back", "back to what was shown before (Backspace)"),
      button("help", "?", "Help", "keys and mouse (?)")));
  const isWide = matchMedia("(min-width: 1450px)");
  const place = () => (isWide.matches ? tools : menu.more).append(...rare);
  isWide.addEventListener("change", place, {signal: context.signal});
  place();
  const searchBox = createSearchBox(search, profile, state, context);

  return {
    focusSearch: searchBox.focus,
    redraw() {
      const shown = state.get();
      tabs.redraw(shown.view);
      menu.redraw(shown);
      inverted.setAttribute("aria-pressed", shown.inverted);
      inverted.disabled = !kInvertible.includes(shown.view);
      color.value = shown.colorBy;
      color.disabled = ["table", "timeorder", "tree", "markers", "workers", "source", "locks"].includes(shown.view);
      samples?.redraw(shown);
      const [sign, words] = kThemeSigns[shown.theme];
      theme.textContent = sign;
      theme.title = `theme: ${words} (t)`;
      theme.setAttribute("aria-label", `Theme: ${words}`);
      searchBox.redraw();
    },
  };
}
