// Time order: what each thread did when, its samples side by side.

import {count, duration} from "../format.js";
import {forEachRange} from "../data/selection.js";
import {timeBoxes} from "../data/time_layout.js";
import {createBoxChart} from "./box_chart.js";
import {chartColors, isDark} from "./painter.js";

const kMostThreads = 16;  // more are a picture that nobody reads
const kLeftOut = {cpu: 1, waiting: 0, all: -1};

// The threads that are chosen, those with most samples where they are many.
function lanesOf(profile, selection) {
  const lanes = new Map();
  forEachRange(profile, selection, (first, end, thread) => {
    const lane = lanes.get(thread) ?? {thread, ranges: [], samples: 0};
    lane.ranges.push([first, end]);
    lane.samples += end - first;
    lanes.set(thread, lane);
  });
  const all = [...lanes.values()];
  const kept = all.toSorted((a, b) => b.samples - a.samples).slice(0, kMostThreads);
  return {lanes: kept.sort((a, b) => a.thread - b.thread), leftOut: all.length - kept.length};
}

export function create(element, profile, state, {derived, names, painter, tooltip, status, menu}) {
  let selection = null;
  let current = null;  // the profile that `lanes` are of
  let lanes = {lanes: [], leftOut: 0};
  let picture = null;
  let chosen = null;  // which of the boxes that have the chosen path
  const wholeNs = () => [selection.fromNs, Math.min(selection.toNs, profile.meta.durationNs)];
  const pathOf = (box) => {
    const path = [];
    for (let row = box.stack; row >= 0; row = derived.profile().stacks.prefix[row]) path.push(derived.profile().stacks.func[row]);
    return path.reverse();
  };

  const chart = createBoxChart(element, {label: "time order"}, {
    clickZooms: false,
    onChoose(box) {
      chosen = box;
      state.set({frame: pathOf(box), focus: box.func});
    },
    onZoom(box) {
      const [from, to] = wholeNs();
      state.set({zoom: [], span: [Math.max(0, (box.beginNs - from) / (to - from)),
        Math.min(1, (box.endNs - from) / (to - from))]});
    },
    onRange: (span) => state.set({zoom: [], span}),
    menu, pathOf,
    onHover(box, event) {
      tooltip.show(box && [names.of(box.func),
        `${duration(box.beginNs)} to ${duration(box.endNs)}: ${duration(box.endNs - box.beginNs)}`,
        `thread ${names.thread(box.thread)}`,
        [names.module(box.func), names.place(box.func)].filter((text) => text !== "").join(" · ")], event);
    },
    onDrawn() {
      status.show(lanes.leftOut === 0 ? "" : `the ${kMostThreads} threads with the most samples; ` +
        `${count(lanes.leftOut)} more are chosen`);
    },
  });

  return {
    redraw() {
      const shown = state.get();
      if (selection !== shown.selection || current !== derived.profile()) {
        selection = shown.selection;
        current = derived.profile();
        lanes = lanesOf(current, selection);
      }
      const look = painter.ofFunctions();
      picture = {
        range: shown.zoom.length === 0 ? shown.span : [0, 1],
        boxes(from, to, width) {
          const [beginNs, endNs] = wholeNs();
          const at = (share) => beginNs + share * (endNs - beginNs);
          const {boxes, headings} =
            timeBoxes(current, lanes.lanes, kLeftOut[selection.state], at(from), at(to), width);
          picture.headings = headings.map(({row, thread}) => ({row, text: names.thread(thread)}));
          return boxes;
        },
        look: (box) => look(box.func),
        name: (box) => names.of(box.func),
        isChosen: (box) => chosen !== null && shown.frame.length !== 0 && box.row === chosen.row &&
          box.thread === chosen.thread && box.beginNs <= chosen.beginNs && box.endNs >= chosen.endNs,
        colors: chartColors(isDark(shown)),
      };
      chart.show(picture);
    },
  };
}
