// From the page's data to the profile. src/exporters/page_data.h says what the data is.

import {columnReader} from "./columns.js";

const kTypes = {
  "functions.name": Uint32Array,
  "functions.file": Uint32Array,
  "functions.line": Uint32Array,
  "functions.module": Int32Array,
  "functions.wait": Uint8Array,
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
};

async function inflate(base64) {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * @param {{header: string, columns: string}} data base64, each
 * @returns {Promise<import("./profile.js").Profile>}
 */
export async function decode(data) {
  const [headerBytes, columnBytes] = await Promise.all([inflate(data.header), inflate(data.columns)]);
  const {columns, ...profile} = JSON.parse(new TextDecoder().decode(headerBytes));
  const tables = {functions: {}, stacks: {}, samples: {}};
  const reader = columnReader(columnBytes);
  for (const {name, kind, count} of columns) {
    const [table, column] = name.split(".");
    tables[table][column] = reader[kind](new kTypes[name](count));
  }
  tables.functions.count = tables.functions.name.length;
  tables.stacks.count = tables.stacks.prefix.length;
  tables.samples.count = tables.samples.timeNs.length;
  return {...profile, ...tables, markers: []};
}

/** The profile that a page carries, in elements made by src/exporters/html.cpp. */
export function embeddedProfile(document) {
  const text = (id) => document.getElementById(id).textContent;
  return decode({header: text("profile-header"), columns: text("profile-columns")});
}
