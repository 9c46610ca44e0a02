// Names cut to the width of the box that they are written into.

import {shortName} from "../format.js";

/**
 * Measures once per character: measureText() for every box would take longer than drawing them.
 * @param {CanvasRenderingContext2D} context with its font set
 */
export function createLabels(context) {
  const widths = new Map();
  const shorts = new Map();
  const widthOf = (character) => {
    let width = widths.get(character);
    if (width === undefined) {
      width = context.measureText(character).width;
      widths.set(character, width);
    }
    return width;
  };
  const width = (text) => {
    let sum = 0;
    for (const character of text) sum += widthOf(character);
    return sum;
  };
  return {
    /** As much of `name` as `room` pixels hold, its arguments first to go; "" when next to nothing. */
    fit(name, room) {
      if (room < 14) return "";
      if (name.length * 4 < room + 40 && width(name) <= room) return name;
      let short = shorts.get(name);
      if (short === undefined) {
        short = shortName(name);
        shorts.set(name, short);
      }
      let sum = widthOf("…");
      let length = 0;
      for (const character of short) {
        const next = sum + widthOf(character);
        if (next > room) return length < 2 ? "" : `${short.slice(0, length)}…`;
        sum = next;
        length += character.length;
      }
      return short;
    },
  };
}
