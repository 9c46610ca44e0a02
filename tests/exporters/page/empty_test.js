// A page of a recording without samples, and addresses that fit nothing: every view says so, and
// nothing fails.
//
//   PAGE=empty.html node empty_test.js     of synthetic_page.mjs, run by npm_packages.py
'use strict';
const assert = require('node:assert/strict');
const {after, before, test} = require('node:test');
const {Browser, ProfilePage} = require('./page_driver.js');

const VIEWS = ['flame', 'icicle', 'leftheavy', 'timeorder', 'sunburst', 'sandwich', 'table'];
let browser;
before(async () => { browser = await Browser.launch(); });
after(() => browser.close());

test('every view, both ways round', async () => {
  const page = await ProfilePage.open(browser, process.env.PAGE);
  for (const view of VIEWS) {
    await page.show(view);
    await page.press('i');
    assert.match(await page.status(), /0 s in 0 samples/, view);
  }
  assert.match(await page.search('main'), /^0\.0 % in 1 function/);
});

test('Esc leaves the search; then keys are keys again', async () => {
  const page = await ProfilePage.open(browser, process.env.PAGE);
  const isOpen = () => page.page.$eval('#help', help => help.open);
  await page.press('/', 'm', '?');
  assert.deepEqual([await page.page.inputValue('#search'), await isOpen()], ['m?', false]);
  await page.press('Escape', '?');
  assert.deepEqual([await page.page.inputValue('#search'), await isOpen()], ['m?', true]);
});

test('what is typed after # and fits nothing', async () => {
  for (const fragment of ['zoom=2.3.4&frame=9.9&focus=3&view=sandwich', 'view=timeorder&span=0.999999_1&threads=0',
    'inverted=1&zoom=5&span=0.1_0.100001&view=sunburst', 'focus=99999&sort=change&colorBy=diff', '%&=&view=']) {
    const page = await ProfilePage.open(browser, process.env.PAGE, fragment);
    assert.match(await page.status(), /0 s in 0 samples/, fragment);
  }
});
