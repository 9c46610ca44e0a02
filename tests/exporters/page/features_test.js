// What a page offers beside its views: panes, folded chains, the call tree, what is done to stacks,
// the tracks over time, tables of markers. In Chromium, on a recording whose report is the truth.
//
//   PAGE=profile.html REPORT=report.json node --test features_test.js     run by npm_packages.py
'use strict';
const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const {after, before, beforeEach, test} = require('node:test');
const {Browser, CHART, near, parseDuration, ProfilePage, VIEW, widest} = require('./page_driver.js');

const {PAGE, REPORT} = process.env;
const report = JSON.parse(fs.readFileSync(REPORT, 'utf8'));
const allSeconds = report.functions.reduce((sum, row) => sum + row.self_s, 0);
const isUnique = name => report.functions.filter(row => row.name === name).length === 1;
const kRounding = 0.006;  // of three digits
const LINE = '#timeline canvas';
const WIDTHS = [[900, 700], [1600, 1000], [390, 844]];

let browser;
let page;
before(async () => {
  browser = await Browser.launch();
  page = await ProfilePage.open(browser, PAGE, '', {permissions: ['clipboard-read', 'clipboard-write']});
});
beforeEach(async () => {
  await page.show('flame');
  await page.click('[data-action=reset]');
});
after(() => browser.close());

const size = selector => page.page.$eval(selector, element => {
  const {width, height} = element.getBoundingClientRect();
  return {width, height};
});
const selectedSamples = async () =>
  Number(/in ([\d,]+) samples?/.exec(await page.text('#status .selected'))[1].replaceAll(',', ''));
// A function that some samples have and others have not.
const partial = report.functions.filter(row => isUnique(row.name) && !row.name.startsWith('[') &&
  row.total_samples > 3 && row.total_samples < 0.9 * report.samples).sort((a, b) => b.total_samples - a.total_samples)[0];
async function choose(name) {
  await page.show('table');
  await page.search(`^${name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$`);
  await page.click(`${VIEW} tbody tr[data-func]`);
  await page.search('');
  await page.show('flame');
}

test('one list of threads and tracks, as high as it must be; the stacks have most of the window', async () => {
  const names = await page.page.$$eval('#threads .thread .name', found => found.map(each => each.textContent));
  assert.ok(names.length > 0);
  const rows = await page.page.$eval(LINE, ({timeline}) => timeline.rows().map(({label, y, height}) => ({label, y, height})));
  const [first] = await page.page.$$eval('#threads .thread', found => found.map(each => each.getBoundingClientRect().top));
  const {y} = await (await page.page.$(LINE)).boundingBox();
  near(first, y + rows[0].y, 1.5, 'a name is beside its track');
  const content = rows.at(-1).y + rows.at(-1).height;
  const {height} = await size('#timeline');
  near(height, Math.min(content + 2, 0.38 * 800), 3, 'no empty timeline, and none that takes all');
  for (const [width, high] of WIDTHS) {
    await page.page.setViewportSize({width, height: high});
    await page.settled();
    assert.ok((await size('#view')).height > 0.3 * high, `${width}x${high}: ${(await size('#view')).height} pixels of stacks`);
    assert.equal(await page.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, 'nothing is beside the window');
  }
  await page.page.setViewportSize({width: 1280, height: 800});
  await page.settled();
});

test('the controls have one row from 1000 pixels on, two at 900; what is rare is in the menu then', async () => {
  for (const [width, most] of [[1600, 1], [1450, 1], [1449, 1], [1280, 1], [1000, 1], [900, 2]]) {
    await page.page.setViewportSize({width, height: 700});
    await page.settled();
    assert.ok(await page.toolbarRows() <= most, `${width} pixels: ${await page.toolbarRows()} rows`);
    assert.ok(await page.page.$eval('#search', ({clientWidth}) => clientWidth) >= 80, `${width}: room to type`);
    assert.equal(await page.page.isVisible('[data-action=theme]'), width >= 1450, `${width}`);
  }
  await page.click('[data-action=menu]');
  for (const control of ['[data-action=theme]', '[data-action=copyLink]', '[data-action=compare]', '[data-action=reset]', '[aria-label="Colour by"]', '[data-switch=idle]']) {
    assert.ok(await page.page.isVisible(control), control);
  }
  await page.press('Escape');
  await page.page.setViewportSize({width: 1280, height: 800});
  await page.settled();
});

test('details open when something is chosen, and close', async () => {
  assert.ok(!await page.page.isVisible('#details'));
  await choose(partial.name);
  assert.ok(await page.page.isVisible('#details'));
  const {width} = await size('#view');
  await page.click('[data-action=close-details]');
  assert.ok(!await page.page.isVisible('#details'));
  assert.ok((await size('#view')).width > width);
});

test('the panes split where one likes, which is remembered', async () => {
  const split = await (await page.page.$('#split-tracks')).boundingBox();
  const {height} = await size('#timeline');
  await page.page.mouse.move(split.x + 200, split.y + 3);
  await page.page.mouse.down();
  await page.page.mouse.move(split.x + 200, split.y + 63, {steps: 3});
  await page.page.mouse.up();
  near((await size('#timeline')).height, height + 60, 2, 'dragged');
  await page.page.focus('#split-tracks');
  await page.press('ArrowUp');
  near((await size('#timeline')).height, height + 36, 2, 'by a key');
  await page.page.reload();
  await page.settled();
  near((await size('#timeline')).height, height + 36, 2, 'after it was loaded again');
  await page.page.dblclick('#split-tracks');
  near((await size('#timeline')).height, height, 2, 'forgotten');
});

test('chains of single calls are folded; a click and a key unfold them; the choice is remembered', async () => {
  const chains = () => page.page.$eval(CHART, ({chart}) => chart.boxes()
    .map((box, index) => ({...chart.placeOf(box), index, folded: box.folded, width: box.width})).filter(({folded}) => folded));
  const folded = await chains();
  assert.ok(folded.length > 0, 'the recording has a chain');
  const before = (await page.boxes()).length;
  const {index} = folded.sort((a, b) => b.width - a.width)[0];
  await page.reveal(index);  // in deep stacks it may be out of sight
  await page.settled();
  const longest = (await chains()).find(chain => chain.index === index);
  await page.pointAt(longest);
  assert.equal((await page.tooltip())[0], `${longest.folded} frames that call one function each`);
  await page.clickOn(longest);
  assert.equal((await page.boxes()).length - before >= longest.folded - 1, true, 'a click unfolds one');
  await page.press('z');
  assert.deepEqual(await chains(), []);
  assert.ok((await page.boxes()).length > before);
  assert.equal(await page.field('fold'), '0');
  await page.show('icicle');
  await page.page.goto(page.page.url().split('#')[0] + '#');
  await page.page.reload();
  await page.settled();
  assert.deepEqual(await chains(), [], 'remembered');
  assert.equal(await page.field('view'), 'icicle', 'remembered');
  await page.press('z');
  assert.ok((await chains()).length > 0);
});

const treeRows = () => page.page.$$eval(`${VIEW} tr[data-node]`, rows => rows.map(row => ({
  level: Number(row.getAttribute('aria-level')), expanded: row.getAttribute('aria-expanded'),
  selected: row.getAttribute('aria-selected') === 'true', cells: [...row.cells].map(cell => cell.textContent),
  spark: row.querySelector('.spark path').getAttribute('d')})));

test('the call tree: totals, keys, when, inverted, as text', async () => {
  await page.show('tree');
  const [root] = await treeRows();
  near(parseDuration(root.cells[0]) / 1e9, allSeconds, kRounding * allSeconds, 'all');
  assert.ok(root.spark.length > 10, 'it says when');
  const children = (await treeRows()).filter(({level}) => level === 2);
  const sum = children.reduce((total, {cells}) => total + parseDuration(cells[0]) / 1e9, 0);
  near(sum, allSeconds, 2 * kRounding * allSeconds, 'the children of all');
  await page.page.focus(`${VIEW} .table-scroller`);
  await page.press('Home');
  await page.press('*');
  const all = await treeRows();
  assert.ok(all.length > 3 && all.some(({level}) => level > 3), `${all.length} rows`);
  await page.press('ArrowLeft');
  assert.equal((await treeRows()).length, 1, 'folded');
  await page.press('ArrowRight');
  await page.press('ArrowDown');
  const rows = await treeRows();
  assert.ok(rows.length > 1 && rows[1].selected);
  await page.press('y');
  const lines = (await page.clipboard()).split('\n');
  assert.equal(lines.length - 1, Number((await page.text('.said')).replaceAll(',', '').match(/\d+/)[0]));
  assert.ok(lines.some(line => line.endsWith(rows[1].cells[4].replace(/^[▸▾]/, ''))), lines[1]);
  await page.press('i');
  const best = report.functions.reduce((a, b) => a.self_s > b.self_s ? a : b);
  const leaf = (await treeRows()).filter(({level}) => level === 2)[0];
  near(parseDuration(leaf.cells[0]) / 1e9, best.self_s, kRounding * best.self_s + 1e-9, 'the heaviest leaf');
  await page.press('i');
});

test('only callees, dropped, merged: in the address, each undone', async () => {
  await page.press('z');  // every frame is a box
  await choose(partial.name);
  await page.click('[data-action=focus]');
  assert.equal(await selectedSamples(), partial.total_samples, 'samples with it');
  assert.match(await page.field('do'), /^f\d+$/);
  const link = page.page.url();
  await page.click('[data-action=undo]');
  assert.equal(await selectedSamples(), report.samples);
  await page.click('[data-action=drop]');
  assert.equal(await selectedSamples(), report.samples - partial.total_samples, 'samples without it');
  await page.click('[data-action=back]');
  await page.field('do');
  await page.settled();
  assert.equal(await selectedSamples(), report.samples, 'Back undoes it');
  await page.click('[data-action=callers]');
  assert.equal(await selectedSamples(), partial.total_samples);
  await page.press('i');
  await page.settled();
  const leaves = (await page.boxes()).filter(box => box.row === 1 && !box.merged);
  assert.deepEqual(leaves.map(({name}) => name), [partial.name], 'its stacks end in it');
  await page.press('i');
  await page.click('[data-action=undo]');
  await page.press('m');
  await page.show('table');
  assert.ok(!(await page.rows()).some(row => row.Function === partial.name), 'merged into its callers');
  assert.equal(await selectedSamples(), report.samples);
  await page.click('[data-action=undo]');
  await page.page.goto(link);
  await page.settled();
  assert.equal(await selectedSamples(), partial.total_samples, 'the link shows it again');
  await page.press('z');
});

test('recursion, the system\'s frames and idle threads can be hidden', async () => {
  await page.click('[data-action=menu]');
  for (const kind of ['system', 'recursion', 'idle']) await page.click(`[data-switch=${kind}]`);
  assert.equal(await page.field('do'), 's.r.i');
  await page.press('Escape');
  await page.show('table');
  const libraries = await page.page.$$eval(`${VIEW} tbody td:nth-last-child(2) span`, cells => cells.map(cell => cell.title));
  assert.deepEqual(libraries.filter(path => /^(\/usr)?\/lib\//.test(path)), []);
  for (let i = 0; i < 3; ++i) await page.click('[data-action=undo]');
  assert.equal(await selectedSamples(), report.samples);
});

test('the CPUs in use are of as many as the machine has', async () => {
  assert.equal(report.cpus, os.cpus().length);
  const [, scale, machine] = /^scale: (\d+) of (\d+) CPU/.exec(await page.page.getAttribute(LINE, 'aria-description')).map(Number);
  assert.equal(machine, report.cpus);
  assert.ok(scale >= 1 && scale <= machine, `${scale}`);
});

test('the tracks zoom and move; their colours say state or library', async () => {
  const {x, y, width} = await (await page.page.$(LINE)).boundingBox();
  const before = await page.picture(LINE);
  await page.page.mouse.move(x + width / 2, y + 30);
  await page.page.mouse.wheel(0, -600);
  const [from, to] = (await page.field('seen')).split('_').map(Number);
  assert.ok(from > 0 && to < report.duration_s * 1e9 && to - from < 0.5 * report.duration_s * 1e9, `${from} to ${to}`);
  near(from + to, report.duration_s * 1e9, 0.02 * report.duration_s * 1e9, 'about the pointer');
  await page.page.keyboard.down('Shift');
  await page.page.mouse.wheel(0, 100);
  await page.page.keyboard.up('Shift');
  const moved = (await page.field('seen')).split('_').map(Number);
  near(moved[1] - moved[0], to - from, 10, 'moved, not zoomed');
  assert.ok(moved[0] > from);
  await page.page.mouse.dblclick(x + width / 2, y + 30);
  assert.equal(await page.field('seen'), null);
  await page.click('[data-action=reset]');
  assert.equal(await page.picture(LINE), before);
  await page.page.selectOption('[aria-label="Colour tracks by"]', 'module');
  await page.settled();
  assert.notEqual(await page.picture(LINE), before);
  await page.page.selectOption('[aria-label="Colour tracks by"]', 'state');
});

test('waits are in the table of markers, with percentiles; one of them selects its time and thread', async () => {
  await page.show('markers');
  const waits = report.waits ?? [];
  if (waits.length === 0) return;
  const rows = await page.page.$$eval(`${VIEW} .marker-names table[aria-label=Waits] tbody tr`, found =>
    found.map(row => [...row.cells].map(cell => cell.textContent)));
  const count = rows.reduce((sum, row) => sum + Number(row[1].replaceAll(',', '')), 0);
  assert.equal(count, waits.reduce((sum, wait) => sum + wait.samples, 0));
  for (const row of rows) {
    const percentiles = row.slice(3).map(parseDuration);
    assert.deepEqual(percentiles, percentiles.toSorted((a, b) => a - b), row[0]);
  }
  await page.page.click(`${VIEW} .marker-names table[aria-label=Waits] tbody button`);
  await page.page.click(`${VIEW} [data-action=select-marker]`);
  await page.settled();
  assert.ok(Number(await page.field('to')) > Number(await page.field('from') ?? 0));
  assert.ok(await page.field('threads') !== null || report.threads.length === 1);
});

test('no bar is under a figure, and the place of a function is in sight', async () => {
  await page.show('table');
  const found = await page.page.$$eval(`${VIEW} tr[data-func]`, rows => rows.map(row => {
    const box = each => each.getBoundingClientRect();
    const crossing = [...row.querySelectorAll('.share')].some(share => {
      const bar = box(share.querySelector('.share-room'));
      return [...share.querySelectorAll('.value, .error')].some(text => text.textContent !== '' && box(text).right > bar.left + 1);
    });
    return {crossing, right: box(row.cells[row.cells.length - 1]).left + 40};
  }));
  assert.ok(found.length > 3);
  assert.ok(found.every(({crossing}) => !crossing));
  assert.ok(found.every(({right}) => right < 1280), 'File:line is not cut off');
});

test('names of threads can be told apart', async () => {
  const shown = await page.page.$$eval('#threads .thread:not(.process, .sections, .counter)', rows => rows.map(row => row.innerText));
  assert.equal(new Set(shown).size, shown.length, `${shown}`);
});

test('a view is drawn with what is widest in it', async () => {
  for (const view of ['flame', 'icicle']) {
    await page.show(view);
    assert.ok(widest(await page.boxes(), 1), view);
  }
});
