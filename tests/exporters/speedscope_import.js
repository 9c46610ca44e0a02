// Opens profiles with speedscope's own importer, without a browser, and prints what it understood:
//
//   node speedscope_import.js FOLDER_OF_THE_PACKAGE FILE...
//   [{"file", "profiles": [{"name", "unit", "weight", "frames": {NAME: {"self", "total"}}}]}]
//
// The package holds one bundle for browsers. It is run up to the point where it has defined the
// importer and is about to build the page; there the importer is taken out.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

function loadImporter(packageFolder) {
  const release = path.join(packageFolder, 'dist', 'release');
  const bundle = fs.readdirSync(release).find(name => /^speedscope-.*\.js$/.test(name));
  const source = fs.readFileSync(path.join(release, bundle), 'utf8');
  // var X=Promise.resolve().then(()=>(initialize(),exports)), of the module with the importer.
  const names = /([\w$]+)=\{\};[\w$]+\(\1,\{[^}]*importProfilesFromArrayBuffer:/.exec(source);
  if (!names) throw new Error('no importer in ' + bundle + ': the test is for speedscope 1.25');
  const name = '([\\w$]+)';
  const place = new RegExp(`var ${name}=Promise\\.resolve\\(\\)\\.then\\(\\(\\)=>\\(${name}\\(\\),` +
                           `${names[1].replace('$', '\\$')}\\)\\);`).exec(source);
  const stop = `globalThis.importer=(${place[2]}(),${names[1]});throw globalThis.stop;`;
  const stub = new Proxy(function () {}, {get: (_, key) => key === Symbol.toPrimitive ? () => '' : stub,
                                          set: () => true, apply: () => stub});
  const quiet = {log() {}, warn() {}, error: console.error};
  const context = vm.createContext({
    stop: new Error('the importer is defined'), console: quiet, TextDecoder, TextEncoder, URL,
    setTimeout, atob, btoa, performance, Blob, Response, DecompressionStream,
    document: stub, location: {hash: '', protocol: 'http:', href: 'http://localhost/'},
    navigator: {userAgent: '', platform: ''}, localStorage: stub,
  });
  context.window = context.self = context;
  try {
    vm.runInContext(source.replace(place[0], () => stop), context, {filename: bundle});
  } catch (error) {
    if (error !== context.stop) throw error;
  }
  return context;
}

function summary(profile) {
  const frames = {};
  profile.forEachFrame(frame => {
    const entry = frames[frame.name] = frames[frame.name] || {self: 0, total: 0};
    entry.self += frame.getSelfWeight();
    entry.total += frame.getTotalWeight();
  });
  return {name: profile.getName(), unit: profile.getWeightUnit(),
          weight: profile.getTotalNonIdleWeight(), frames};
}

async function main() {
  const [packageFolder, ...files] = process.argv.slice(2);
  const context = loadImporter(packageFolder);
  const result = [];
  for (const file of files) {
    const bytes = new Uint8Array(fs.readFileSync(file));
    // An ArrayBuffer of the bundle's own world.
    const copy = vm.runInContext('n => new ArrayBuffer(n)', context)(bytes.length);
    new Uint8Array(copy).set(bytes);
    const group = await context.importer.importProfilesFromArrayBuffer(path.basename(file), copy);
    if (!group) throw new Error(file + ': speedscope does not know the format');
    result.push({file, profiles: group.profiles.map(summary)});
  }
  console.log(JSON.stringify(result));
}

main().catch(error => { console.error(error); process.exit(1); });
