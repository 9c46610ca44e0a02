// A line between two panes that can be dragged, or moved by arrow keys. A double click forgets the size.

import {h} from "../dom.js";
import {recall, remember} from "../prefs.js";

const kKeyPixels = 24;
const kLeast = 60;  // pixels of a pane
const kMost = 0.8;  // of the window

/**
 * @param {HTMLElement} element the separator, an empty one
 * @param {object} pane
 * @param {string} pane.name of the size: CSS's variable, and what is remembered
 * @param {string} pane.label
 * @param {HTMLElement} pane.target whose size it is
 * @param {1|-1} pane.towards 1: a drag to the right or down makes it larger
 * @param {() => boolean} pane.isUpright whether the line is
 */
export function createSplit(element, {name, label, target, towards, isUpright}, signal) {
  const key = () => `${name}${isUpright() ? "-width" : "-height"}`;
  const sizeOf = () => target.getBoundingClientRect()[isUpright() ? "width" : "height"];
  const set = (pixels) => {
    const most = kMost * (isUpright() ? innerWidth : innerHeight);
    const size = pixels === null ? null : Math.round(Math.max(kLeast, Math.min(most, pixels)));
    remember(key(), size);
    apply();
  };
  function apply() {
    for (const each of ["width", "height"]) {
      const size = Number.parseFloat(recall(`${name}-${each}`) ?? "");
      const property = `--${name}-${each}`;
      if (size > 0) document.documentElement.style.setProperty(property, `${size}px`);
      else document.documentElement.style.removeProperty(property);
    }
    element.setAttribute("aria-orientation", isUpright() ? "vertical" : "horizontal");
    element.setAttribute("aria-valuenow", Math.round(sizeOf()));
  }
  for (const [attribute, value] of Object.entries({role: "separator", tabindex: 0, "aria-label": label})) {
    element.setAttribute(attribute, value);
  }
  element.append(h("i"));
  let press = null;
  const listen = (type, fn) => element.addEventListener(type, fn, {signal});
  listen("pointerdown", (event) => {
    press = {at: isUpright() ? event.clientX : event.clientY, size: sizeOf()};
    element.setPointerCapture(event.pointerId);
  });
  listen("pointermove", (event) => {
    if (press) set(press.size + towards * ((isUpright() ? event.clientX : event.clientY) - press.at));
  });
  for (const end of ["pointerup", "pointercancel"]) listen(end, () => { press = null; });
  listen("dblclick", () => set(null));
  listen("keydown", (event) => {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (!step) return;
    event.preventDefault();
    set(sizeOf() + towards * step * kKeyPixels);
  });
  apply();
  addEventListener("resize", apply, {signal});
}
