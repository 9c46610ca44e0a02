// The source and the instructions of a page that has them (--with-source): the same lines and times
// as `sampan annotate --asm --json` of the same function says.
//
//   PAGE=profile.html ANNOTATION=annotation.json node --test source_test.js     run by npm_packages.py
'use strict';
const assert = require('node:assert/strict');
const fs = require('node:fs');
const {after, before, test} = require('node:test');
const {Browser, near, parseDuration, ProfilePage, VIEW} = require('./page_driver.js');

const annotation = JSON.parse(fs.readFileSync(process.env.ANNOTATION, 'utf8'));
let browser;
before(async () => { browser = await Browser.launch(); });
after(() => browser.close());

test('lines and instructions of a function, with their time', async () => {
  const page = await ProfilePage.open(browser, process.env.PAGE);
  await page.show('table');
  await page.search(`^${annotation.name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$`);
  await page.click(`${VIEW} tbody tr[data-func]`);
  await page.show('source');
  const lines = await page.page.$$eval(`${VIEW} [aria-label="source lines"] tr[data-line]`, rows => rows.map(row =>
    ({line: Number(row.dataset.line), self: row.cells[0].textContent, text: row.cells[3].textContent})));
  const [{lines: truth}] = annotation.files;
  for (const {line, text, self_s: self} of truth) {
    const shown = lines.find(each => each.line === line);
    assert.equal(shown.text, text);
    if (self > 0) near(parseDuration(shown.self) / 1e9, self, 0.006 * self, text);
  }
  const code = await page.page.$$eval(`${VIEW} [aria-label=instructions] tr:not(.gap)`, rows => rows.slice(1).map(row =>
    [row.cells[2].textContent, row.cells[3].textContent, row.cells[1].textContent.replaceAll(',', '')]));
  assert.deepEqual(code, annotation.instructions.map(({address, text, self_samples: samples}) =>
    [address.replace('0x', ''), text, samples > 0 ? `${samples}` : '']));
  const note = () => page.text(`${VIEW} .code-note`);
  const instructions = await page.text(`${VIEW} table[aria-label=instructions]`);
  assert.equal(await note(), 'Times of instructions are those of the whole recording.');
  // In a part of the time, the lines have a part of it, and the instructions what they had.
  await page.page.$eval('#timeline canvas', ({timeline}) => timeline.setRange([0, timeline.durationNs / 2]));
  await page.settled();
  assert.equal(await note(), 'Times of instructions are those of the whole recording, not of what is selected.');
  assert.ok(await page.text(`${VIEW} table[aria-label=instructions]`) === instructions);
  const sum = rows => rows.reduce((all, {self}) => all + (self ? parseDuration(self) : 0), 0);
  const half = await page.page.$$eval(`${VIEW} [aria-label="source lines"] tr[data-line]`, rows => rows.map(row => ({self: row.cells[0].textContent})));
  assert.ok(sum(half) > 0 && sum(half) < 0.9 * sum(lines), `${sum(half)} of ${sum(lines)}`);
});

test('there is room for its name among the others', async () => {
  for (const width of [1000, 1450]) {
    const page = await ProfilePage.open(browser, process.env.PAGE, '', {viewport: {width, height: 700}});
    assert.equal(await page.toolbarRows(), 1, `${width} pixels`);
  }
});

test('the menu on a frame leads to its source', async () => {
  const page = await ProfilePage.open(browser, process.env.PAGE, 'view=table');
  await page.search(`^${annotation.name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$`);
  await page.page.click(`${VIEW} tbody tr[data-func]`, {button: 'right'});
  await page.click('.frame-menu [data-action=source]');
  assert.equal(await page.field('view'), 'source');
  assert.match(await page.status(), new RegExp(`${annotation.name.slice(0, 4)}`));
});

test('a page without them has no such view', async () => {
  const page = await ProfilePage.open(browser, process.env.WITHOUT, 'view=source');
  assert.equal(await page.page.$('[data-view=source]'), null);
  assert.equal(await page.field('view'), 'table');
});
