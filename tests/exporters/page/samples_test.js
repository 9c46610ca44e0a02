// A page that has time, the heap and locks: the switch between them shows the numbers of `sampan report --json` with
// --heap and --locks of the same recording, and the address keeps what is shown. In Chromium.
//
//   PAGE=profile.html LOCKS_FIRST=locks.html REPORTS=reports.json node --test samples_test.js     run by npm_packages.py
'use strict';
const assert = require('node:assert/strict');
const fs = require('node:fs');
const {after, before, test} = require('node:test');
const {Browser, near, parseDuration, ProfilePage, VIEW} = require('./page_driver.js');

const {PAGE, LOCKS_FIRST, REPORTS} = process.env;
const reports = JSON.parse(fs.readFileSync(REPORTS, 'utf8'));  // cpu, live, allocated, locks
const SWITCH = '#toolbar select[aria-label=Samples]';
const kRounding = 0.006;  // of three digits
const kTable = 300;       // rows that are listed

let browser;
before(async () => { browser = await Browser.launch(); });
after(() => browser.close());

const opened = (file = PAGE, fragment = '') => ProfilePage.open(browser, file, fragment);
const number = text => Number(text.replaceAll(',', ''));
const selectedSamples = async page => number(/in ([\d,]+) samples?/.exec(await page.text('#status .selected'))[1]);
const threads = page => page.texts('#threads .thread .name');
const shown = page => page.page.inputValue(SWITCH);

// The page is another one when it has been drawn.
async function choose(page, type) {
  await page.select(SWITCH, type);
  await page.page.waitForFunction(([place, value]) => document.querySelector(place)?.value === value, [SWITCH, type]);
  await page.settled();
}
async function back(page) {
  await page.page.goBack();
  await page.settled();
}

async function checkCpu(page) {
  assert.equal(await selectedSamples(page), reports.cpu.samples);
  const best = reports.cpu.functions.toSorted((a, b) => b.total_s - a.total_s)[0];
  await page.show('table');
  const rows = await page.rows();
  near(Math.max(...rows.map(row => Number(row['Total s']))), best.total_s, 0.00051, 'total of the first');
}

async function checkHeap(page, part) {
  const {heap} = reports[part];
  assert.equal(await selectedSamples(page), heap[part].draws);
  await page.show('table');
  const names = heap.functions.map(({name}) => name);
  const known = heap.functions.filter(({name}) => names.indexOf(name) === names.lastIndexOf(name) && /allocate_\w+/.test(name));
  assert.ok(known.length >= 5, names.join());
  for (const row of known) {
    await page.search(`^${row.name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$`);
    const found = (await page.rows()).filter(each => each.Function === row.name);
    assert.equal(found.length, row[`${part}_total`].draws === 0 ? 0 : 1, row.name);
    if (found.length === 0) continue;
    near(number(found[0]['Total bytes']), row[`${part}_total`].bytes, 1 + 0.001 * row[`${part}_total`].draws, row.name);
    near(number(found[0]['Self bytes']), row[part].bytes, 1 + 0.001 * row[part].draws, row.name);
  }
  await page.search('');
}

const tableRows = (page, label) => page.page.$$eval(`${VIEW} table[aria-label="${label}"] tbody tr`,
  rows => rows.map(row => [...row.cells].map(cell => cell.title || cell.textContent)));
function checkSum(cells, truth, what) {
  const [waited, , waits, longest] = cells.slice(-4);
  near(parseDuration(waited) / 1e9, truth.waiting_s, kRounding * truth.waiting_s, `${what}: waited`);
  near(number(waits), truth.waits, 0.51, `${what}: waits`);
  near(parseDuration(longest) / 1e9, truth.longest_s, kRounding * truth.longest_s, `${what}: longest`);
}

async function checkLocks(page) {
  const {locks} = reports.locks;
  assert.equal(await selectedSamples(page), locks.draws);
  // The list keeps only the rows that are seen in the page.
  const search = page.page.locator('#threads input[type=search]');
  await search.fill('target_locks');
  const waits = await page.texts('#threads .thread[data-key^=t] .number');
  const waited = locks.table.reduce((sum, {waiting_s}) => sum + waiting_s, 0);
  near(waits.reduce((sum, text) => sum + parseDuration(text) / 1e9, 0), waited, kRounding * waited, 'waited, of all threads');
  await search.fill('');
  assert.match(await page.page.getAttribute('#timeline canvas', 'aria-description'), /^scale: \d waiting threads?$/);
  await page.show('locks');
  const rows = await tableRows(page, 'locks');
  assert.equal(rows.length, Math.min(kTable, locks.table.length));
  rows.forEach((cells, i) => {
    const truth = locks.table[i];
    if (truth.locks === 1) assert.equal(cells[0], `${truth.kind} ${truth.name}`);
    assert.equal(cells[1].split('\n').length, truth.threads);
    checkSum(cells, truth, truth.name);
  });
  for (const [label, key, role] of [['blocked by', 'blocked_by', 'held_in'], ['woken by', 'woken_by', 'woken_in']]) {
    const known = locks[key].filter(row => row[role] !== null);
    const pairs = await tableRows(page, label);
    assert.equal(pairs.length, Math.min(kTable, known.length), label);
    pairs.forEach((cells, i) => {
      assert.equal(cells[0], known[i].waited_in ?? 'not known');
      assert.equal(cells[1], known[i][role]);
      assert.equal(cells[2], known[i].lock);
      checkSum(cells, known[i], label);
    });
  }
}

test('each type has the numbers of its report, with the same threads', async () => {
  const page = await opened();
  assert.deepEqual(await page.texts(`${SWITCH} option`), ['CPU', 'Heap (live)', 'Heap (allocated)', 'Locks']);
  const names = (await threads(page)).toSorted();
  await checkCpu(page);
  for (const part of ['live', 'allocated']) {
    await choose(page, part);
    await checkHeap(page, part);
    assert.deepEqual((await threads(page)).toSorted(), names);
  }
  await choose(page, 'locks');
  await checkLocks(page);
  assert.deepEqual((await threads(page)).toSorted(), names);
  await choose(page, 'all');
  assert.equal(await page.page.$('[data-view=locks]'), null);
  await checkCpu(page);
});

test('only the selected threads are added up, also after another switch', async () => {
  const page = await opened(PAGE, 'samples=locks&view=locks');
  const before = await tableRows(page, 'locks');
  const waiter = before[0][1].split('\n')[0];
  const others = await page.page.$$eval('#threads .thread .name', (found, name) => found.findIndex(each => each.textContent !== name && !name.startsWith(each.textContent)), waiter);
  await page.page.locator('#threads .thread .name').nth(others).click();
  await page.settled();
  const after = await tableRows(page, 'locks');
  assert.notDeepEqual(after, before);
  assert.ok(after.every(cells => cells[1] !== waiter));
  const chosen = await page.field('threads');
  assert.notEqual(chosen, null);
  await choose(page, 'allocated');
  assert.equal(await page.field('threads'), chosen);
});

test('the address keeps the choice; Back and Forward go through it', async () => {
  const page = await opened();
  await choose(page, 'live');
  assert.equal(await page.field('samples'), 'live');
  await page.show('table');
  await choose(page, 'locks');
  assert.equal(await page.field('samples'), 'locks');
  await page.page.reload();
  await page.settled();
  await page.page.waitForSelector(SWITCH);
  assert.equal(await shown(page), 'locks');
  assert.equal(await selectedSamples(page), reports.locks.locks.draws);
  const until = async type => page.page.waitForFunction(([place, value]) => document.querySelector(place)?.value === value, [SWITCH, type]);
  await back(page);
  await until('live');
  assert.equal(await selectedSamples(page), reports.live.heap.live.draws);
  await back(page);  // the view
  await back(page);
  await until('all');
  assert.equal(await selectedSamples(page), reports.cpu.samples);
  await page.page.goForward();
  await until('live');
});

test('what was chosen when the page was made is shown first, in the same page', async () => {
  const page = await opened(LOCKS_FIRST);
  assert.equal(await shown(page), 'locks');
  assert.equal(await page.field('samples'), null);
  await checkLocks(page);
  await choose(page, 'all');
  assert.equal(await page.field('samples'), 'cpu');
  await checkCpu(page);
});
