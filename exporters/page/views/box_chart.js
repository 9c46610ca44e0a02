// Boxes with names in rows, on a canvas: what flame graphs, icicles and time lines are drawn with.
//
// Who makes a chart gives it boxes (see tree_layout.js), their colours, and what a choice means.
// The canvas is as large as what is seen of it; the element around it scrolls.

import {beforeNextFrame, h} from "../dom.js";
import {createLabels} from "./label.js";
import {listenToBoxes} from "./box_input.js";

export const kRowHeight = 20;
const kCallersSeen = 2;
const kFont = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

/**
 * @typedef {object} Look
 * @property {string} fill
 * @property {string} text
 * @property {boolean} [hatched] its share could be chance
 */

/**
 * @typedef {object} Picture
 * @property {[number, number]} range what is seen, as shares of the whole width
 * @property {(from: number, to: number, width: number) => object[]} boxes
 * @property {(box: object) => Look} look
 * @property {(box: object) => string} name
 * @property {(box: object) => boolean} isChosen
 * @property {boolean} [rootAtBottom]
 * @property {{row: number, text: string}[]} [headings] rows of text, of the whole width
 * @property {{merged: string, chosen: string, background: string, muted: string}} colors
 */

/**
 * @param {HTMLElement} parent
 * @param {{label: string, className?: string}} options
 * @param {object} handlers of listenToBoxes
 */
export function createBoxChart(parent, {label, className = ""}, handlers) {
  const canvas = h("canvas", {tabindex: 0, role: "application", "aria-label": label,
    "aria-roledescription": "chart", "aria-keyshortcuts": "ArrowUp ArrowDown ArrowLeft ArrowRight Enter"});
  const floor = h("div", {class: "chart-floor"}, canvas);
  const scroller = h("div", {class: `chart ${className}`}, floor);
  parent.append(scroller);
  const context = canvas.getContext("2d");
  /** @type {Picture|null} */
  let picture = null;
  let boxes = [];
  let width = 0;
  let height = 0;
  let rows = 0;
  let hovered = null;
  let labels = null;
  let hatch = null;

  const top = (box) => {
    const row = picture.rootAtBottom ? rows - 1 - box.row : box.row;
    return row * kRowHeight + (picture.rootAtBottom ? Math.max(0, height - rows * kRowHeight) : 0);
  };

  function makeHatch() {
    const tile = new OffscreenCanvas(6, 6);
    const pen = tile.getContext("2d");
    pen.strokeStyle = picture.colors.background;
    pen.globalAlpha = 0.75;
    pen.lineWidth = 1.6;
    for (const x of [-6, 0, 6]) {
      pen.moveTo(x, 6);
      pen.lineTo(x + 6, 0);
    }
    pen.stroke();
    return context.createPattern(tile, "repeat");
  }

  function drawBox(box, y) {
    const look = box.merged ? {fill: picture.colors.merged} : picture.look(box);
    const wide = box.width > 3 ? box.width - 1 : Math.max(0.6, box.width - 0.3);
    context.fillStyle = look.fill;
    context.fillRect(box.x, y, wide, kRowHeight - 1);
    if (look.hatched) {
      context.fillStyle = hatch;
      context.fillRect(box.x, y, wide, kRowHeight - 1);
    }
    if (box.merged) return;
    const text = labels.fit(picture.name(box), box.width - 8);
    if (text === "") return;
    context.fillStyle = look.text;
    context.fillText(text, box.x + 4, y + 14);
  }

  function draw() {
    if (picture === null || width === 0) return;
    const ratio = devicePixelRatio || 1;
    const offset = scroller.scrollTop;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.translate(0, -offset);
    context.font = kFont;
    labels ??= createLabels(context);
    for (const {row, text} of picture.headings ?? []) {
      context.fillStyle = picture.colors.muted;
      context.fillText(text, 4, top({row}) + 14);
    }
    let chosen = null;
    for (const box of boxes) {
      const y = top(box);
      if (y + kRowHeight < offset || y > offset + height) continue;
      drawBox(box, y);
      if (!box.merged && picture.isChosen(box)) chosen = box;
    }
    for (const [box, line] of [[hovered, 1], [chosen, 2]]) {
      if (!box) continue;
      context.strokeStyle = picture.colors.chosen;
      context.lineWidth = line;
      context.strokeRect(box.x + line / 2, top(box) + line / 2,
        Math.max(1, box.width - 1 - line), kRowHeight - 1 - line);
    }
  }

  function layOut() {
    // The browser has moved what is seen already where the view has become higher.
    const highest = Math.max(height, scroller.clientHeight);
    const atBottom = height === 0 || floor.clientHeight - highest - scroller.scrollTop < 1;
    const before = height;
    width = scroller.clientWidth;
    if (picture === null || width === 0) return;
    height = scroller.clientHeight;
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    boxes = picture.boxes(picture.range[0], picture.range[1], width);
    rows = 0;
    for (const box of boxes) rows = Math.max(rows, box.row + 1);
    for (const {row} of picture.headings ?? []) rows = Math.max(rows, row + 1);
    const fromBottom = floor.clientHeight - scroller.scrollTop;
    floor.style.height = `${Math.max(height, rows * kRowHeight + 4)}px`;
    // The lower edge stays in place if the root is at the bottom, and in sight in a low view.
    if (picture.rootAtBottom) scroller.scrollTop = floor.clientHeight - (atBottom ? height : fromBottom);
    // What is chosen stays in sight when its details take room.
    const lower = height < before ? chart.chosen() : null;
    if (lower) chart.reveal(lower);
    hovered = null;
    draw();
    handlers.onDrawn?.(boxes);
  }

  const redraw = beforeNextFrame(draw);
  scroller.addEventListener("scroll", redraw);
  new ResizeObserver(beforeNextFrame(layOut)).observe(scroller);

  const chart = {
    canvas,
    scroller,
    /** @param {Picture} next */
    show(next) {
      if (next.colors.background !== picture?.colors.background) hatch = null;
      const turned = picture !== null && (next.rootAtBottom ?? false) !== (picture.rootAtBottom ?? false);
      picture = next;
      hatch ??= makeHatch();
      layOut();
      if (turned) scroller.scrollTop = next.rootAtBottom ? floor.clientHeight : 0;
    },
    range: () => picture?.range ?? [0, 1],
    boxes: () => boxes,
    width: () => width,
    nameOf: (box) => picture.name(box),
    /** The place of a box on the page's floor, for those who point at it. */
    placeOf: (box) => ({x: box.x + box.width / 2, y: top(box) + kRowHeight / 2 - scroller.scrollTop}),
    /** @param {number} x within the canvas @param {number} y */
    boxAt(x, y) {
      const floorY = y + scroller.scrollTop;
      return boxes.findLast((box) => x >= box.x && x < box.x + Math.max(1, box.width) &&
        floorY >= top(box) && floorY < top(box) + kRowHeight) ?? null;
    },
    hover(box) {
      if (box === hovered) return;
      hovered = box;
      redraw();
    },
    chosen: () => picture === null ? null : boxes.find((box) => !box.merged && picture.isChosen(box)) ?? null,
    rootAtBottom: () => picture?.rootAtBottom ?? false,
    /** Moves the row to the root's edge, below the nearest of its callers. */
    bringToRoot(row) {
      const y = top({row});
      scroller.scrollTop = picture.rootAtBottom ? y + (1 + kCallersSeen) * kRowHeight - height : y - kCallersSeen * kRowHeight;
    },
    reveal(box) {
      const y = top(box);
      if (y < scroller.scrollTop) scroller.scrollTop = y;
      if (y + kRowHeight > scroller.scrollTop + height) scroller.scrollTop = y + kRowHeight - height;
    },
  };
  canvas.chart = chart;  // for tests, and the curious at the console
  listenToBoxes(chart, handlers);
  return chart;
}
