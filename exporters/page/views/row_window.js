// A long list in a scrolling element: only the rows that can be seen are in the document. One of
// them is current, for the keyboard.

import {beforeNextFrame, h} from "../dom.js";

/**
 * @param {HTMLElement} scroller
 * @param {number} height of a row, px
 * @param {(row: any, index: number) => HTMLElement} makeRow
 */
export function createRowWindow(scroller, height, makeRow) {
  const floor = h("div", {class: "row-floor"});
  scroller.append(floor);
  let rows = [];
  let current = 0;

  function draw() {
    const first = Math.max(0, Math.floor(scroller.scrollTop / height) - 2);
    const end = Math.min(rows.length, Math.ceil((scroller.scrollTop + scroller.clientHeight) / height) + 2);
    const elements = [];
    for (let i = first; i < end; ++i) {
      const element = makeRow(rows[i], i);
      element.style.top = `${i * height}px`;
      element.style.height = `${height}px`;
      element.setAttribute("aria-setsize", rows.length);
      element.setAttribute("aria-posinset", i + 1);
      if (i === current) {
        element.classList.add("current");
        scroller.setAttribute("aria-activedescendant", element.id);
      }
      elements.push(element);
    }
    floor.replaceChildren(...elements);
  }

  scroller.addEventListener("scroll", beforeNextFrame(draw));
  new ResizeObserver(beforeNextFrame(draw)).observe(scroller);

  return {
    show(next) {
      rows = next;
      current = Math.max(0, Math.min(current, rows.length - 1));
      floor.style.height = `${rows.length * height}px`;
      draw();
    },
    current: () => current,
    moveTo(index) {
      current = Math.max(0, Math.min(index, rows.length - 1));
      const top = current * height;
      if (top < scroller.scrollTop) scroller.scrollTop = top;
      if (top + height > scroller.scrollTop + scroller.clientHeight) {
        scroller.scrollTop = top + height - scroller.clientHeight;
      }
      draw();
    },
  };
}
