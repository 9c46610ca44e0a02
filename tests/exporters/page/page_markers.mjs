// The markers of a page as JSON, read as the page reads them: node page_markers.mjs profile.html
import fs from "node:fs";

import {decode} from "../../../exporters/page/data/decode.js";

const html = fs.readFileSync(process.argv[2], "utf8");
const data = (id) => new RegExp(`id="${id}">([^<]*)</script>`).exec(html)[1];
const {markers: {texts, spans, sections, events, counters}, threads} =
  await decode({header: data("profile-header"), columns: data("profile-columns")});
const rows = ({count}, of) => Array.from({length: count}, (_, row) => of(row));
const end = (table, i) => table.beginNs[i] + table.durationNs[i];

console.log(JSON.stringify({
  spans: rows(spans, (i) => ({name: texts[spans.name[i]], text: texts[spans.text[i]], parent: spans.parent[i],
    tid: threads[spans.thread[i]].tid, end_tid: threads[spans.endThread[i]].tid,
    begin: spans.beginNs[i], end: end(spans, i)})),
  sections: rows(sections, (i) => [texts[sections.name[i]], sections.beginNs[i], end(sections, i)]),
  events: rows(events, (i) => [texts[events.name[i]], texts[events.text[i]], threads[events.thread[i]].tid,
    events.timeNs[i]]),
  counters: rows(counters, (i) => [texts[counters.name[i]], counters.timeNs[i], counters.value[i]]),
}));
