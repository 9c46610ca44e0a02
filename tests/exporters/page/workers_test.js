// Workers beside each other, in Chromium: rows with their time and imbalance, sorted, and heat over time.
//
//   WRITE_EXPORTS=... node --test workers_test.js     run by npm_packages.py
'use strict';
const assert = require('node:assert/strict');
const {after, before, test} = require('node:test');
const {Browser, ProfilePage, VIEW} = require('./page_driver.js');

// The second of three works twice as long as the others, of which each then rests.
const worker = (pid, solve) => `# process ${pid} /usr/bin/app\n# thread ${pid} app\nmain;solve ${solve}\nmain;rest 40\n`;
const STACKS = worker(11, 30) + worker(12, 60) + worker(13, 30);
const ROW = `${VIEW} tr[data-worker]`;

let browser;
let marked;
before(async () => {
  browser = await Browser.launch();
  marked = await import('./marked.mjs');
});
after(() => browser?.close());

const opened = (fn, fragment, stacks = STACKS) => marked.withPage(stacks, async file => fn(await ProfilePage.open(browser, file, fragment)));
const cells = page => page.page.$$eval(ROW, rows => rows.map(row => [...row.cells].slice(0, 3).map(cell => cell.textContent)));
const functionRow = (page, name) => page.click(`${VIEW} tr[data-func]:has-text("${name}")`);

test('the time of the chosen function in each, against the mean', () => opened(async page => {
  await functionRow(page, 'solve');
  await page.show('workers');
  assert.equal(await page.text(`${VIEW} h2`), 'solve');
  // Samples are of 4 ms.
  assert.deepEqual(await cells(page), [['app 11', '120 ms', '75.0 %'], ['app 12', '240 ms', '150.0 %'], ['app 13', '120 ms', '75.0 %']]);
  await page.click(`${VIEW} [data-order=imbalance]`);
  assert.deepEqual((await cells(page)).map(([name]) => name), ['app 12', 'app 11', 'app 13']);
  assert.equal(await page.page.getAttribute(`${VIEW} th:has([data-order=imbalance])`, 'aria-sort'), 'descending');
  await page.click(`${VIEW} [data-order=order]`);
  assert.deepEqual((await cells(page)).map(([name]) => name), ['app 11', 'app 12', 'app 13']);
}, 'view=table'));

test('the heat is where the function was', () => opened(async page => {
  await functionRow(page, 'solve');
  await page.show('workers');
  // The share of each strip that has another colour than its end, where no worker solves: 30, 60 and 30 of 100 samples.
  const shares = await page.page.$$eval(`${ROW} canvas`, strips => strips.map(strip => {
    const {data} = strip.getContext('2d').getImageData(0, 0, strip.width, 1);
    const colours = [...Array(strip.width).keys()].map(x => data.slice(4 * x, 4 * x + 3).join());
    return colours.filter(colour => colour !== colours.at(-1)).length / strip.width;
  }));
  shares.forEach((share, i) => assert.ok(Math.abs(share - [0.3, 0.6, 0.3][i]) <= 0.02, `${shares}`));
}, 'view=table'));

test('a worker is chosen by its name, and everything by it again', () => opened(async page => {
  await page.click(`${ROW}[data-worker="app 12"] button`);
  assert.equal(await page.page.getAttribute(`${ROW}[data-worker="app 12"]`, 'aria-selected'), 'true');
  assert.equal((await cells(page)).length, 3);
  await page.show('table');
  assert.match(await page.text(`${VIEW} tr[data-func]:has-text("solve")`), /0\.240/);
  await page.show('workers');
  await page.click(`${ROW}[data-worker="app 12"] button`);
  assert.equal(await page.page.getAttribute(`${ROW}[data-worker="app 12"]`, 'aria-selected'), 'false');
}, 'view=workers'));

test('a single process has no such view', () => opened(async page => {
  assert.equal(await page.page.$('#toolbar [data-view=workers]'), null);
  assert.ok(await page.page.$(`${VIEW} tr[data-func]`), 'the table instead');
}, 'view=workers', worker(11, 30)));
