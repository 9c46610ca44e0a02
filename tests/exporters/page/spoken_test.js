// What a screen reader says of frames that are chosen, in Chromium: in every chart, and in the rows of the tree.
//
//   WRITE_EXPORTS=... node --test spoken_test.js     run by npm_packages.py
'use strict';
const assert = require('node:assert/strict');
const {after, before, test} = require('node:test');
const {Browser, CHART, ProfilePage, VIEW} = require('./page_driver.js');

// 4 ms each, of 2 s.
const STACKS = 'main;run;solve;step 250\nmain;run;solve 50\nmain;run;smooth 100\nmain;rest 100\n';
let browser;
let marked;
before(async () => {
  browser = await Browser.launch();
  marked = await import('./marked.mjs');
});
after(() => browser?.close());

const opened = (fn, fragment) => marked.withPage(STACKS, async file => fn(await ProfilePage.open(browser, file, fragment)));
const spoken = page => page.text('[aria-live=polite][data-spoken]');

test('frames that keys choose, in a chart', () => opened(async page => {
  assert.equal(await spoken(page), '');
  await page.page.focus(CHART);
  await page.press('ArrowDown');
  assert.equal(await spoken(page), 'main, self 0 s, total 2.00 s, 100.0 %, depth 1, 2 callees');
  for (const key of ['ArrowDown', 'ArrowDown']) await page.press(key);
  assert.equal(await spoken(page), 'solve, self 200 ms, total 1.20 s, 60.0 %, depth 3, 1 of 2, heaviest first, 1 callee');
  await page.press('ArrowLeft');
  assert.equal(await spoken(page), 'smooth, self 400 ms, total 400 ms, 20.0 %, depth 3, 2 of 2, heaviest first, a leaf');
  await page.press('i');
  for (const key of ['ArrowDown', 'ArrowDown']) await page.press(key);
  assert.equal(await spoken(page), 'solve, self 0 s, total 1.00 s, 50.0 %, depth 2, 1 caller');
}, 'view=icicle&fold=0'));

test('in every chart; the sandwich says the function', () => opened(async page => {
  const said = {flame: /^solve, self 200 ms, total 1\.20 s, 60\.0 %, depth 3, /, leftheavy: /^solve, self 200 ms, .* depth 3, /};
  for (const [view, wanted] of Object.entries(said)) {
    await page.show(view);
    await page.clickOn((await page.boxes()).find(({name}) => name === 'solve'));
    assert.match(await spoken(page), wanted, view);
    await page.click('[data-action=reset]');
    assert.equal(await spoken(page), '');
  }
  await page.show('timeorder');
  await page.clickOn((await page.boxes()).find(({name}) => name === 'rest'));
  assert.match(await spoken(page), /^rest, self 400 ms, total 400 ms, 20\.0 %, depth 2, 2 of 2/);
  await page.show('sandwich');
  assert.equal(await spoken(page), 'rest, self 400 ms, total 400 ms, 20.0 %');
  await page.show('sunburst');
  await page.click('[data-action=reset]');
  await page.page.focus(CHART);
  await page.press('ArrowRight');
  assert.match(await spoken(page), /^(run|rest), self .* depth 2, [12] of 2, heaviest first/);
}, 'fold=0'));

test('rows of the tree say their depth and their place among the others', () => opened(async page => {
  await page.page.focus(`${VIEW} .table-scroller`);
  for (const key of ['Home', '*']) await page.press(key);
  const rows = await page.page.$$eval(`${VIEW} tr[data-node]`, found => found.map(row => [row.cells[4].textContent.replace(/^[▸▾]/, ''),
    ...['level', 'posinset', 'setsize'].map(name => Number(row.getAttribute(`aria-${name}`)))]));
  assert.deepEqual(rows, [['all', 1, 1, 1], ['main', 2, 1, 1], ['run', 3, 1, 2], ['solve', 4, 1, 2], ['step', 5, 1, 1], ['smooth', 4, 2, 2],
    ['rest', 3, 2, 2]]);
  await page.press('ArrowDown');
  const active = await page.page.$eval(`${VIEW} .table-scroller`, each => document.getElementById(each.getAttribute('aria-activedescendant')).cells[4].textContent);
  assert.match(active, /main$/);
}, 'view=tree'));
