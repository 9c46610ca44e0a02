// From the page's data to the profile. exporters/page_data.h says what the data is.

import {columnReader} from "./columns.js";
import {noMarkers} from "./markers.js";

const kTypes = {
  "functions.name": Uint32Array,
  "functions.file": Uint32Array,
  "functions.line": Uint32Array,
  "functions.module": Int32Array,
  "functions.wait": Uint8Array,
  "functions.python": Uint8Array,
  "stacks.prefix": Int32Array,
  "stacks.func": Uint32Array,
  "stacks.line": Uint32Array,
  "stacks.inlined": Uint8Array,
  "samples.ofThread": Uint32Array,
  "samples.timeNs": Float64Array,
  "samples.weightNs": Float64Array,
  "samples.stack": Int32Array,
  "samples.waiting": Uint8Array,
  "samples.taken": Uint32Array,
  "samples.side": Uint32Array,
  "samples.waits": Float64Array,
  "samples.longestNs": Float64Array,
  "spans.thread": Int32Array,
  "spans.endThread": Int32Array,
  "spans.beginNs": Float64Array,
  "spans.durationNs": Float64Array,
  "spans.name": Uint32Array,
  "spans.text": Uint32Array,
  "spans.parent": Int32Array,
  "spans.across": Uint8Array,
  "spans.closed": Uint8Array,
  "sections.process": Int32Array,
  "sections.thread": Int32Array,
  "sections.beginNs": Float64Array,
  "sections.durationNs": Float64Array,
  "sections.name": Uint32Array,
  "sections.closed": Uint8Array,
  "events.thread": Int32Array,
  "events.timeNs": Float64Array,
  "events.name": Uint32Array,
  "events.text": Uint32Array,
  "counters.process": Int32Array,
  "counters.name": Uint32Array,
  "counters.timeNs": Float64Array,
  "counters.value": Float64Array,
};

async function inflate(base64) {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  // Not from a Blob: its bytes go to the browser's process and back.
  const {readable, writable} = new DecompressionStream("deflate");
  const inflated = new Response(readable).arrayBuffer();
  const writer = writable.getWriter();
  const written = Promise.all([writer.write(bytes), writer.close()]);
  return new Uint8Array((await Promise.all([inflated, written]))[0]);
}

export const inflatedText = async (base64) => new TextDecoder().decode(await inflate(base64));

// What the pages of older programs lack: their samples are of time, and recorded by sampan.
const kOlder = {unit: "", imported: false, hasTimes: true};

/**
 * @param {{header: string, columns: string}} data base64, each
 * @returns {Promise<import("./profile.js").Profile>}
 */
export async function decode(data) {
  const [headerBytes, columnBytes] = await Promise.all([inflate(data.header), inflate(data.columns)]);
  const {columns, markerTexts, ...profile} = JSON.parse(new TextDecoder().decode(headerBytes));
  profile.meta = {...kOlder, ...profile.meta};
  const tables = {functions: {}, stacks: {}, samples: {}, spans: {}, sections: {}, events: {}, counters: {}};
  const reader = columnReader(columnBytes);
  for (const {name, kind, count} of columns) {
    const [table, column] = name.split(".");
    tables[table][column] = reader[kind](new kTypes[name](count));
  }
  tables.functions.count = tables.functions.name.length;
  tables.stacks.count = tables.stacks.prefix.length;
  tables.samples.count = tables.samples.timeNs.length;
  const {functions, stacks, samples, ...markers} = tables;
  if (markers.spans.name === undefined) return {...profile, functions, stacks, samples, markers: noMarkers()};
  for (const table of Object.values(markers)) table.count = table.name.length;
  return {...profile, functions, stacks, samples, markers: {texts: markerTexts, ...markers}};
}

/**
 * A profile that a page carries, in elements made by exporters/html.cpp.
 * @param {string|null} type of its samples; null: the first one
 */
export function embeddedProfile(document, type = null) {
  const text = (id) => document.getElementById(type === null ? id : `${id}-${type}`).textContent;
  return decode({header: text("profile-header"), columns: text("profile-columns")});
}
