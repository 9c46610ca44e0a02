// The menu on a frame: by the right button, or by the menu key on the frame that is chosen.

import {h} from "../dom.js";
import {shortName} from "../format.js";

const kMargin = 4;  // pixels to the window's edge

/**
 * @typedef {object} Frame
 * @property {number} func
 * @property {number[]} path as state.frame is; empty: only the function is known
 */

/** @param {ReturnType<import("../frame_actions.js").createFrameActions>} actions @param {AbortSignal} signal */
export function createFrameMenu(actions, names, tooltip, signal) {
  const title = h("p", {});
  const list = h("div", {role: "menu", "aria-label": "Actions on a frame"});
  const element = h("div", {class: "frame-menu", hidden: true}, title, list);
  document.body.append(element);
  let opener = null;     // has the focus again afterwards
  let pointedAt = null;  // where the frame is
  let isByKey = false;   // what happened last

  function close() {
    if (element.hidden) return;
    const hadFocus = element.contains(document.activeElement);
    element.hidden = true;
    list.replaceChildren();
    if (hadFocus) opener?.focus({preventScroll: true});
  }

  function open({func, path}, x, y) {
    close();
    tooltip.show(null);
    opener = document.activeElement;
    title.textContent = shortName(names.of(func));
    list.setAttribute("aria-label", names.of(func));
    list.replaceChildren(...actions.of(func, path).map(({id, text, key, run}) =>
      h("button", {role: "menuitem", tabindex: -1, "data-action": id, "aria-keyshortcuts": key, onclick() {
        close();
        run();
      }}, h("span", {}, text), key ? h("kbd", {"aria-hidden": "true"}, key) : null)));
    element.hidden = false;
    const {width, height} = element.getBoundingClientRect();
    element.style.left = `${Math.max(kMargin, Math.min(x, innerWidth - width - kMargin))}px`;
    element.style.top = `${Math.max(kMargin, Math.min(y, innerHeight - height - kMargin))}px`;
    list.firstChild.focus({preventScroll: true});
  }

  element.addEventListener("keydown", (event) => {
    const items = [...list.children];
    const at = items.indexOf(document.activeElement);
    const next = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1}[event.key];
    if (next !== undefined) items.at(next % items.length).focus();
    else if (event.key === "Escape" || event.key === "Tab") close();
    else if (event.key !== "Enter" && event.key !== " ") return event.stopPropagation();  // the page's keys are not the menu's
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  element.addEventListener("contextmenu", (event) => event.preventDefault());
  const listen = (type, fn) => addEventListener(type, fn, {capture: true, passive: true, signal});
  const isOutside = ({target}) => !(target instanceof Node && element.contains(target));
  listen("keydown", () => { isByKey = true; });
  listen("pointerdown", (event) => {
    isByKey = false;
    if (isOutside(event)) close();
  });
  listen("wheel", (event) => isOutside(event) && close());
  listen("scroll", ({target}) => target.contains(pointedAt) && close());
  for (const type of ["resize", "blur"]) listen(type, (event) => event.target === window && close());

  return {
    /**
     * @param {HTMLElement} area
     * @param {(event: MouseEvent) => Frame|null|false} under the pointer
     * @param {() => (Frame & {x: number, y: number})|null|false} chosen with its place, in pixels of `area`
     */
    listenOn(area, under, chosen) {
      area.addEventListener("contextmenu", (event) => {
        const frame = isByKey ? chosen() : under(event);
        if (!frame || frame.func < 0) return;
        event.preventDefault();
        pointedAt = area;
        const {left, top} = area.getBoundingClientRect();
        if (isByKey) open(frame, left + frame.x, top + frame.y);
        else open(frame, event.clientX, event.clientY);
      });
    },
  };
}
