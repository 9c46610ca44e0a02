// The text beside the pointer about the item under it.

import {h} from "../dom.js";

export function createTooltip() {
  const element = h("div", {class: "tooltip", role: "tooltip", hidden: true});
  document.body.append(element);
  return {
    /** @param {string[]|null} lines the first is the title; null: nothing to show */
    show(lines, event) {
      element.hidden = lines === null;
      if (lines === null) return;
      element.replaceChildren(...lines.map((line, i) => h("div", {class: i === 0 ? "title" : ""}, line)));
      const {width, height} = element.getBoundingClientRect();
      const right = event.clientX + 16;
      const below = event.clientY + 18;
      element.style.left = `${Math.max(4, Math.min(right, innerWidth - width - 8))}px`;
      element.style.top = `${below + height + 8 > innerHeight ? event.clientY - height - 10 : below}px`;
    },
  };
}
