// Every view and control of a page, used in Chromium as a person would; what is shown is compared
// with the report of the same recording.
//
//   PAGE=profile.html REPORT=report.json node --test page_test.js     run by npm_packages.py
'use strict';
const assert = require('node:assert/strict');
const fs = require('node:fs');
const {after, before, beforeEach, test} = require('node:test');
const {Browser, CHART, near, parseDuration, ProfilePage, VIEW, widest} = require('./page_driver.js');

const {PAGE, REPORT} = process.env;
const report = JSON.parse(fs.readFileSync(REPORT, 'utf8'));
const allSeconds = report.functions.reduce((sum, row) => sum + row.self_s, 0);
const sumOf = (name, key) => report.functions.filter(row => row.name === name)
  .reduce((sum, row) => sum + row[key], 0);
const isUnique = name => report.functions.filter(row => row.name === name).length === 1;
const digits = number => number.toLocaleString('en-US');
const kRounding = 0.006;  // of three digits

let browser;
let page;

before(async () => {
  browser = await Browser.launch();
  // Not so wide that the details are beside the view: it keeps its width.
  page = await ProfilePage.open(browser, PAGE, '', {viewport: {width: 790, height: 1000}, permissions: ['clipboard-read', 'clipboard-write']});
  await page.press('z');  // every frame is a box
});
beforeEach(async () => {
  await page.show('flame');
  await page.click('[data-action=reset]');
});
after(() => browser.close());

// A frame that has room for a name and is not all there is; the chart is scrolled to it.
async function someFrame() {
  const width = await page.chartWidth();
  const boxes = await page.boxes();
  const frame = boxes.filter(box => !box.merged && box.row > 1 && box.width < 0.9 * width)
    .sort((a, b) => b.width - a.width)[0];
  assert.ok(frame, 'the recording has such a frame');
  await page.reveal(boxes.indexOf(frame));
  const shown = (await page.boxes())[boxes.indexOf(frame)];
  assert.ok(shown.seen, 'the chart scrolls to it');
  return {...shown, share: frame.width / width};
}
// The same frame, wherever it is drawn now.
const again = async ({name, row}) => widest(await page.boxes(), row, box => box.name === name);
async function clickAgain(frame) {
  const boxes = await page.boxes();
  await page.reveal(boxes.indexOf(widest(boxes, frame.row, box => box.name === frame.name)));
  await page.settled();
  await page.clickOn(await again(frame));
}
const widthOf = async frame => (await again(frame))?.width ?? 0;

test('the header says what was recorded, and how far it can be trusted', async () => {
  assert.equal(await page.text('h1'), report.program);
  const figure = name => page.text(`[data-figure="${name}"] dd`);
  near(parseDuration(await figure('ran')), report.duration_s * 1e9, report.duration_s * kRounding * 1e9, 'ran');
  assert.equal(await figure('samples'), digits(report.samples));
  assert.match(await figure('rate'), new RegExp(`of ${report.rate_hz} Hz$`));
  near(parseFloat(await figure('cost')), report.cost.share * 100, 0.0051, 'cost');
  near(parseFloat(await figure('coverage')), report.coverage * 100, 0.051, 'coverage');
  near(parseFloat(await figure('complete stacks')), report.complete_stacks * 100, 0.051, 'complete stacks');
  const lost = Object.values(report.lost).reduce((sum, n) => sum + n, 0);
  assert.equal(await figure('lost'), lost === 0 ? 'nothing' : digits(lost));
  assert.equal(await figure('threads'), digits(report.threads.length));
});

test('flame graph and icicle: all of the time; the root below, or above', async () => {
  for (const [view, below] of [['flame', true], ['icicle', false]]) {
    await page.show(view);
    const boxes = await page.boxes();
    const root = widest(boxes, 0);
    near(root.width, await page.chartWidth(), 0.01, 'the root');
    assert.equal(widest(boxes, 1).y < root.y, below, view);
    await page.pointAt(root);
    near(parseDuration((await page.tooltip())[1]), allSeconds * 1e9, kRounding * allSeconds * 1e9, view);
    assert.match(await page.status(), new RegExp(`in ${digits(report.samples)} samples`));
  }
});

test('the root of a flame graph stays in sight when the window becomes lower', async () => {
  const {width, height} = page.page.viewportSize();
  for (const lower of [height - 60, height]) {
    await page.page.setViewportSize({width, height: lower});
    await page.settled();
    assert.ok(widest(await page.boxes(), 0).seen, `${lower} pixels`);
  }
});

test('under the pointer: a frame and its share', async () => {
  const frame = await someFrame();
  await page.pointAt(frame);
  const [name, figures] = await page.tooltip();
  assert.equal(name, frame.name);
  near(parseDuration(figures) / 1e9, frame.share * allSeconds, 2 * kRounding * allSeconds, name);
  assert.match(figures, /( ± [\d.]+ %)? .* samples?$/);
});

test('a click zooms; Back, 0 and Escape undo it', async () => {
  const frame = await someFrame();
  const width = await page.chartWidth();
  await page.clickOn(frame);
  near(await widthOf(frame), width, 0.01, 'what was clicked');
  assert.equal(await page.text('.function-title'), frame.name);
  assert.ok(await page.field('zoom'));
  await page.click('[data-action=back]');
  assert.equal(await page.field('zoom'), null, 'after Back');
  near(await widthOf(frame), frame.width, 0.01, 'after Back');
  for (const key of ['0', 'Escape', 'Backspace']) {
    await clickAgain(frame);
    near(await widthOf(frame), width, 0.01, 'clicked again');
    await page.field('zoom');
    await page.press(key);
    assert.equal(await page.field('zoom'), null, key);
  }
});

test('wheel, drag and keys zoom and move', async () => {
  const frame = await someFrame();
  await page.pointAt(frame);
  await page.wheel(-300, 'Control');
  const zoomed = await page.field('span');
  assert.ok(zoomed, 'the wheel zooms');
  assert.ok(await widthOf(frame) > frame.width);
  const {x, y} = await page.pointAt({x: await page.chartWidth() / 2, y: frame.y});
  const room = Number(zoomed.split('_')[1]) < 0.9 ? -80 : 80;  // to the end, or to the beginning
  await page.page.mouse.down();
  await page.page.mouse.move(x + room, y, {steps: 3});
  await page.page.mouse.up();
  const dragged = await page.field('span');
  assert.notEqual(dragged, zoomed, 'a drag moves');
  await page.page.focus(CHART);
  await page.press(room < 0 ? 'd' : 'a');
  assert.notEqual(await page.field('span'), dragged, 'a key moves');
  const spans = [];
  for (const key of ['+', '-', 'w', 's']) {
    await page.press(key);
    spans.push(await page.field('span'));
  }
  assert.ok(spans[0] !== spans[1] && spans[2] !== spans[3], `in and out again: ${spans}`);
  await page.press('0');
  near(await widthOf(frame), frame.width, 0.01, 'all of it again');
});

test('arrow keys go from frame to frame, Enter zooms', async () => {
  await page.show('icicle');
  await page.page.focus(CHART);
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowLeft']) await page.press(key);
  const path = (await page.field('frame')).split('.');
  assert.ok(path.length >= 1);
  const chosen = await page.text('.function-title');
  await page.press('Enter');
  assert.equal(await page.field('zoom'), path.join('.'));
  const fills = (await page.boxes()).some(box => box.name === chosen && box.row === path.length && box.width > 100);
  assert.ok(fills, chosen);
  await page.press('ArrowUp');
  assert.equal((await page.field('frame') ?? '').split('.').filter(Boolean).length, path.length - 1);
});

test('left heavy: the heaviest first', async () => {
  await page.show('leftheavy');
  const boxes = await page.boxes();
  const first = widest(boxes, 1);
  const inside = boxes.filter(box => box.row === 2 && !box.merged && box.left >= first.left - 0.01 &&
    box.left < first.left + first.width).sort((a, b) => a.left - b.left);
  inside.forEach((box, i) => assert.ok(i === 0 || box.width <= inside[i - 1].width + 0.01, box.name));
});

test('inverted: where the time was spent, as the report has it', async () => {
  await page.click('[data-action=invert]');
  const width = await page.chartWidth();
  const leaves = (await page.boxes()).filter(box => box.row === 1 && !box.merged && isUnique(box.name));
  assert.ok(leaves.length > 0);
  for (const box of leaves) near(box.width / width, sumOf(box.name, 'self_s') / allSeconds, 1e-6, box.name);
  await page.press('i');
  assert.equal(await page.page.getAttribute('[data-action=invert]', 'aria-pressed'), 'false');
});

test('details: self and total, by thread, as the report has them; the stack, copied', async () => {
  const frame = await someFrame();
  await page.clickOn(frame);
  const facts = Object.fromEntries(await page.page.$$eval('#details .fact', rows =>
    rows.map(row => [row.querySelector('dt').textContent, row.querySelector('dd').textContent])));
  const total = sumOf(frame.name, 'total_s');
  if (isUnique(frame.name)) near(parseDuration(facts.total) / 1e9, total, kRounding * total, 'total');
  near(parseDuration(facts['this frame'].split('total')[1]) / 1e9, frame.share * allSeconds,
    kRounding * allSeconds, 'this frame');
  for (const name of ['library', 'defined', 'inlined']) assert.ok(facts[name], name);
  const perThread = await page.page.$$eval('.by-thread tbody tr', rows =>
    rows.map(row => [...row.cells].map(cell => cell.textContent)));
  const sum = perThread.reduce((all, row) => all + parseDuration(row[3]) / 1e9, 0);
  if (isUnique(frame.name)) near(sum, total, 2 * kRounding * total, 'all threads');
  for (const [name, tid] of perThread) {
    assert.ok(report.threads.some(thread => thread.name === name && thread.tid === Number(tid)), `${name} ${tid}`);
  }

  const listed = await page.texts('.stack button');
  assert.equal(listed[0], frame.name);
  assert.equal(listed.length, frame.row);
  await page.click('[data-action=copy-stack]');
  assert.equal(await page.text('.said'), 'copied the stack');
  const lines = (await page.clipboard()).split('\n');
  assert.equal(lines.length, listed.length);
  lines.toReversed().forEach((line, i) => assert.ok(line.startsWith(listed[i]), line));
  await page.click('[data-action=copy-name]');
  assert.equal(await page.clipboard(), frame.name);
  await page.click('[data-action=search-name]');
  assert.match(await page.text('.search-result'), / in \d+ functions?$/);
  await page.click('[data-action=sandwich]');
  assert.equal(await page.field('view'), 'sandwich');
  await page.click('.stack button');
  assert.equal(await page.text('.function-title'), frame.name);
});

test('sunburst: a ring per depth; a click goes in, the centre goes out', async () => {
  await page.show('sunburst');
  const arcs = () => page.page.$eval(CHART, canvas => canvas.arcs.all.map(arc =>
    ({...canvas.arcs.placeOf(arc), width: arc.width, row: arc.row, merged: arc.merged})));
  const root = (await arcs())[0];
  await page.pointAt(root);
  near(parseDuration((await page.tooltip())[1]), allSeconds * 1e9, 2 * kRounding * allSeconds * 1e9, 'the centre has nearly all');
  const above = Number(/begins (\d+) frames/.exec(await page.status())?.[1] ?? 0);
  const arc = widest(await arcs(), 2);
  await page.pointAt(arc);
  const [name] = await page.tooltip();
  await page.clickOn(arc);
  assert.equal(await page.text('.function-title'), name);
  const zoom = async () => ((await page.field('zoom')) ?? '').split('.').filter(Boolean);
  const inside = await zoom();
  assert.equal(inside.length, above + 2);
  await page.clickOn((await arcs())[0]);
  assert.ok((await zoom()).length < inside.length, 'the centre leads back out');
  for (const next of (await arcs()).filter(each => each.row === 1)) {
    assert.ok(next.width < 0.995 * 4096, 'the innermost ring is divided');
  }
});

test('sandwich: callers above, callees below, each with the whole of the function', async () => {
  await page.show('sandwich');
  const {name} = await someSandwich();
  const [callers, callees] = [`${VIEW} .slice:nth-of-type(1) canvas`, `${VIEW} .slice:nth-of-type(2) canvas`];
  const truth = sumOf(name, 'total_s');
  for (const slice of [callers, callees]) {
    const root = widest(await page.boxes(slice), 0);
    assert.equal(root.name, name);
    await page.pointAt(root, slice);
    const [, figures] = await page.tooltip();
    if (isUnique(name)) near(parseDuration(figures) / 1e9, truth, kRounding * truth, name);
  }
  const caller = widest(await page.boxes(callers), 1);
  assert.ok(caller, `${name} has callers`);
  await page.clickOn(caller, callers);
  assert.equal(await page.text('.function-title'), caller.name, 'a caller is the next to be looked at');
});

// The function of the list that has the most total after the first: it has callers and callees.
async function someSandwich() {
  await page.click(`${VIEW} th:nth-child(2) button`);
  const names = (await page.rows()).map(row => row.Function);
  const name = names.find((each, i) => i > 0 && each !== '[unknown]' && each !== names[0]);
  await page.click(`${VIEW} tbody tr[data-func]:nth-of-type(${names.indexOf(name) + 2})`);
  assert.equal(await page.text('.function-title'), name);
  return {name};
}

test('time order: a lane per thread, and zoom into time', async () => {
  await page.show('timeorder');
  const boxes = await page.boxes();
  assert.ok(boxes.length > 0);
  await page.pointAt(boxes.filter(box => box.seen).sort((a, b) => b.width - a.width)[0]);
  const lines = await page.tooltip();
  assert.ok(report.threads.some(({name, tid}) => lines.includes(`thread ${name} ${tid}`)), `${lines}`);
  await page.wheel(-400, 'Control');
  assert.ok(await page.field('span'));
  await page.press('0');
  const width = await page.chartWidth();
  // Where the details, which its first click opens, do not come.
  const isHigh = each => each.y < 250;
  const box = boxes.filter(each => each.seen && each.width < 0.9 * width).sort((a, b) => isHigh(b) - isHigh(a) || b.width - a.width)[0];
  const {x, y} = await page.pointAt(box);
  await page.page.mouse.dblclick(x, y);
  await page.settled();
  assert.ok(await page.field('span'), 'a double click zooms');
  assert.equal(await page.text('.function-title'), box.name);
});

test('the table: as the report has it, sorted by every column', async () => {
  await page.show('table');
  while (await page.page.getAttribute(`${VIEW} th`, 'aria-sort') !== 'descending') {
    await page.click(`${VIEW} th:nth-child(1) button`);
  }
  const rows = await page.rows();
  assert.ok(rows.length > 5);
  rows.filter(row => isUnique(row.Function)).forEach(row => {
    near(Number(row['Self s']), sumOf(row.Function, 'self_s'), 0.00051, row.Function);
    near(Number(row['Total s']), sumOf(row.Function, 'total_s'), 0.00051, row.Function);
    assert.equal(row.Samples, digits(sumOf(row.Function, 'self_samples')));
    near(parseFloat(row['Self %']), sumOf(row.Function, 'self_s') / allSeconds * 100, 0.051, row.Function);
    assert.match(row['Total %'], /%(± [\d.]+ %)?$/);
    if (row['Total %'].startsWith('100')) assert.ok(!row['Total %'].includes('±'), 'every sample met it');
  });
  const best = key => Math.max(...report.functions.map(row => row[key]));
  near(Number(rows[0]['Self s']), best('self_s'), 0.00051, 'the first');
  const headings = await page.page.$$(`${VIEW} th button`);
  for (const heading of headings) {
    await heading.click();
    await page.settled();
    const before = await page.rows();
    await heading.click();
    await page.settled();
    assert.notDeepEqual(await page.rows(), before, `the other way round: ${await heading.textContent()}`);
  }
  await page.click(`${VIEW} th:nth-child(3) button`);
  near(Number((await page.rows())[0]['Total s']), best('total_s'), 0.00051, 'by total');
});

test('the table scrolls to its end, and keys go through it', async () => {
  await page.show('table');
  await page.page.focus(`${VIEW} .table-scroller`);
  await page.press('End');
  await page.settled();
  const last = (await page.rows()).at(-1);
  assert.equal(await page.text('.function-title').catch(() => ''), last.Function);
  for (const key of ['Home', 'ArrowDown', 'Enter']) await page.press(key);
  assert.equal(await page.field('view'), 'sandwich');
});

test('search: what matches, and its share, each sample once', async () => {
  const frame = await someFrame();
  const plain = await page.picture();
  const quoted = frame.name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  const result = await page.search(`^${quoted}$`);
  near(parseFloat(result), sumOf(frame.name, 'total_s') / allSeconds * 100, isUnique(frame.name) ? 0.051 : 100, result);
  assert.match(result, / in \d+ functions?$/);
  assert.notEqual(await page.picture(), plain, 'matches stand out');
  await page.show('table');
  assert.ok((await page.rows()).every(row => row.Function === frame.name));
  assert.match(await page.search('a('), /group/i);
  assert.equal(await page.page.getAttribute('#search', 'aria-invalid'), 'true');
  assert.match(await page.search('no such function'), /^0\.0 % in 0 functions/);
  await page.search('');
  await page.show('flame');
  assert.equal(await page.picture(), plain);
  await page.page.focus(CHART);
  await page.press('/');
  assert.equal(await page.page.evaluate(() => document.activeElement.id), 'search');
});

test('colours by thread; the legend says which', async () => {
  const byModule = await page.picture();
  await page.select('[aria-label="Colour by"]', 'thread');
  assert.notEqual(await page.picture(), byModule);
  const legend = await page.texts('.legend-item');
  const most = report.threads.toSorted((a, b) => b.samples - a.samples)[0];
  assert.ok(legend.includes(`${most.name} ${most.tid}`), `${legend}`);
  await page.select('[aria-label="Colour by"]', 'module');
});

test('on CPU, waiting, or both: the samples that are chosen', async () => {
  if (await page.page.$('[aria-label=Samples]') === null) return;  // nothing waited
  const counts = [];
  for (const state of ['cpu', 'waiting', 'all']) {
    await page.select('[aria-label=Samples]', state);
    counts.push(Number(/in ([\d,]+) samples?/.exec(await page.status())[1].replaceAll(',', '')));
  }
  assert.equal(counts[0] + counts[1], counts[2]);
  assert.equal(counts[2], report.samples);
  assert.equal(counts[1], report.waits.reduce((sum, wait) => sum + wait.samples, 0));
});

const selectedSamples = async () =>
  Number(/in ([\d,]+) samples?/.exec(await page.text('#status .selected'))[1].replaceAll(',', ''));

test('the list of threads: one, several, all', async () => {
  // A thread that has executed another program is listed for each.
  const entriesOf = tid => report.threads.filter(thread => thread.tid === tid);
  const listed = await page.page.$$eval('#threads [role=option].thread .hint', hints => hints.map(hint => hint.textContent));
  const once = listed.filter(hint => /^[tp]id \d+$/.test(hint) && entriesOf(Number(hint.slice(4))).length === 1);
  assert.ok(once.length > 0, `${listed}`);
  const samplesOf = hint => entriesOf(Number(hint.slice(4)))[0].samples;
  const pick = async (hint, modifiers = []) => {
    await page.page.click(`#threads [role=option]:has(.hint:text-is("${hint}"))`, {modifiers});
    await page.settled();
  };
  await pick(once[0]);
  if (report.threads.length > 1) {
    assert.equal(await selectedSamples(), samplesOf(once[0]));
    if (once.length > 1) {
      await pick(once[1], ['Control']);
      assert.equal(await selectedSamples(), samplesOf(once[0]) + samplesOf(once[1]));
    }
    assert.ok(await page.field('threads'));
    await page.click('[data-action=all-threads]');
  }
  assert.equal(await selectedSamples(), report.samples);
});

test('a range of the timeline narrows every view', async () => {
  const line = '#timeline canvas';
  const {x, y, width, height} = await (await page.page.$(line)).boundingBox();
  const [from, to] = [x + 0.45 * width, x + 0.7 * width];
  await page.page.mouse.move(from, y + height / 2);
  await page.page.mouse.down();
  await page.page.mouse.move(to, y + height / 2, {steps: 4});
  await page.page.mouse.up();
  await page.settled();
  const range = [Number(await page.field('from')), Number(await page.field('to'))];
  assert.ok(range[0] > 0 && range[1] > range[0] && range[1] <= report.duration_s * 1e9, `${range}`);
  const samples = await selectedSamples();
  assert.ok(samples < report.samples);
  await page.show('table');
  const inTable = (await page.rows()).reduce((sum, row) => sum + Number(row.Samples.replaceAll(',', '')), 0);
  assert.ok(inTable <= samples);
  await page.click('[data-action=select-all]');
  assert.equal(await selectedSamples(), report.samples);
});

test('light and dark, by choice and by the system', async () => {
  const background = () => page.page.evaluate(() =>
    getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0));
  const light = await page.picture();
  assert.ok(await background() > 600);
  await page.page.emulateMedia({colorScheme: 'dark'});
  await page.settled();
  assert.ok(await background() < 150);
  assert.notEqual(await page.picture(), light);
  await page.click('[data-action=theme]');
  assert.ok(await background() > 600, 'light is chosen');
  await page.click('[data-action=theme]');
  await page.page.emulateMedia({colorScheme: 'light'});
  await page.settled();
  assert.ok(await background() < 150, 'dark is chosen');
  await page.press('t');
  assert.ok(await background() > 600, 'as the system');
});

test('a link shows the same again', async () => {
  await page.show('icicle');
  await page.click('[data-action=invert]');
  await page.clickOn(await someFrame());
  await page.search('a|e');
  await page.click('[data-action=copyLink]');
  const link = await page.clipboard();
  assert.equal(link, page.page.url());
  const first = page;
  const shown = async () => ({title: await page.text('.function-title'), result: await page.text('.search-result'),
    status: await page.status(), boxes: (await page.boxes()).map(({name, row, left, width}) => ({name, row, left, width}))});
  const before = await shown();
  page = await ProfilePage.open(browser, PAGE, new URL(link).hash.slice(1),
    {viewport: page.page.viewportSize()});
  try {
    assert.deepEqual(await shown(), before);
    assert.equal(await page.page.getAttribute('[data-action=invert]', 'aria-pressed'), 'true');
  } finally {
    page = first;
    await page.click('[data-action=invert]');
  }
});

test('help opens and closes', async () => {
  await page.page.focus(CHART);
  await page.press('?');
  assert.ok(await page.page.isVisible('#help'));
  await page.press('Escape');
  assert.ok(!await page.page.isVisible('#help'));
  await page.click('[data-action=help]');
  await page.click('#help .close');
  assert.ok(!await page.page.isVisible('#help'));
});

test('every control has a name, can be reached by keys, and fits small windows', async () => {
  const nameless = await page.page.$$eval('button, select, input, canvas, [role]', elements => elements
    .filter(each => !(each.getAttribute('aria-label') || each.getAttribute('aria-labelledby') ||
      each.textContent.trim() || ['status', 'tooltip'].includes(each.getAttribute('role')) || each.hidden))
    .map(each => each.outerHTML.slice(0, 80)));
  assert.deepEqual(nameless, []);
  const reached = new Set();
  await page.click('[data-action=menu]');
  for (let i = 0; i < 60; ++i) {
    await page.page.keyboard.press('Tab');
    reached.add(await page.page.evaluate(() => document.activeElement.dataset.action ??
      document.activeElement.dataset.view ?? (document.activeElement.id || document.activeElement.tagName)));
  }
  for (const name of ['flame', 'invert', 'search', 'back', 'reset', 'copyLink', 'theme', 'help', 'CANVAS']) {
    assert.ok(reached.has(name), `${name} of ${[...reached]}`);
  }
  for (const width of [1600, 1280, 900, 390]) {
    await page.page.setViewportSize({width, height: 760});
    await page.settled();
    const beyond = await page.page.evaluate(() => [...document.querySelectorAll('button, select, input, canvas, .figure')]
      .filter(each => each.checkVisibility() && !each.closest('#details, #threads, .table-scroller, .tabs'))
      .filter(each => each.getBoundingClientRect().right > innerWidth + 1).map(each => each.outerHTML.slice(0, 80)));
    assert.deepEqual(beyond, [], `at ${width}`);
  }
});
