// What npm's pprof-format understands of FILE.pb.gz: pprof_format.js FILE. Run with NODE_PATH.
//
//   {"all", "functions": {NAME: [self, total]}, "threads": [[name, tid, ns]]}   in nanoseconds
'use strict';
const fs = require('fs');
const zlib = require('zlib');
const {Profile} = require('pprof-format');

const profile = Profile.decode(zlib.gunzipSync(fs.readFileSync(process.argv[2])));
const text = index => profile.stringTable.strings[Number(index)];
const byId = rows => new Map(rows.map(row => [Number(row.id), row]));
const locations = byId(profile.location), functions = byId(profile.function);
const type = profile.sampleType.findIndex(type => type.type === profile.defaultSampleType);

const result = {all: 0, functions: {}, threads: []};
const add = (name, column, ns) => (result.functions[name] ??= [0, 0])[column] += ns;
for (const sample of profile.sample) {
  const ns = Number(sample.value[type]);
  const names = sample.locationId.flatMap(id => locations.get(Number(id)).line.map(
    line => text(functions.get(Number(line.functionId)).name)));
  result.all += ns;
  add(names[0], 0, ns);
  for (const name of new Set(names)) add(name, 1, ns);
  const label = key => sample.label.find(label => text(label.key) === key);
  result.threads.push([text(label('thread').str), Number(label('tid').num), ns]);
}
console.log(JSON.stringify(result));
