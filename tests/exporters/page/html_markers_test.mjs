// The markers of profile.html, read as the page reads them. WRITE_EXPORTS: marked.mjs.
import assert from "node:assert/strict";
import fs from "node:fs";
import test from "node:test";

import {decode} from "../../../exporters/page/data/decode.js";
import {kMarked, withPage} from "./marked.mjs";

const html = await withPage(kMarked, (page) => fs.readFileSync(page, "utf8"));
const data = (id) => new RegExp(`id="${id}">([^<]*)</script>`).exec(html)[1];
const {markers, threads, processes} =
  await decode({header: data("profile-header"), columns: data("profile-columns")});
const {texts, spans, sections, events, counters} = markers;
const name = (thread) => threads[thread]?.name;
const rows = ({count}, of) => Array.from({length: count}, (_, row) => of(row));

test("spans, by thread and time", () => {
  assert.deepEqual(rows(spans, (i) => [name(spans.thread[i]), name(spans.endThread[i]), texts[spans.name[i]],
    texts[spans.text[i]], spans.beginNs[i] / 1e6, spans.durationNs[i] / 1e6,
    texts[spans.name[spans.parent[i]]] ?? "", spans.across[i], spans.closed[i]]), [
    ["app", "worker", "request", "", 40, 20, "", 1, 0],
    ["worker", "worker", "handle", "order <42>", 10, 20, "", 0, 0],
    ["worker", "worker", "parse", "", 12.5, 7.5, "handle", 0, 0],
    ["worker", "worker", "reply", "", 20, 10, "handle", 0, 1]]);
});

test("sections, events and counters", () => {
  assert.deepEqual(rows(sections, (i) => [processes[sections.process[i]].pid, name(sections.thread[i]),
    texts[sections.name[i]], sections.beginNs[i] / 1e6, sections.durationNs[i] / 1e6]),
  [[100, undefined, "phase", 2, 38], [100, "worker", "infer_1", 12, 9]]);
  assert.deepEqual(rows(events, (i) => [name(events.thread[i]), texts[events.name[i]],
    texts[events.text[i]], events.timeNs[i] / 1e6]), [["worker", "flush", "full", 70]]);
  assert.deepEqual(rows(counters, (i) => [texts[counters.name[i]], counters.timeNs[i] / 1e6,
    counters.value[i]]), [["queue", 3, 1.5], ["queue", 9, -4]]);
});
