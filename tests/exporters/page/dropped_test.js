// A page compared with another one that is dropped onto it: what changed is red and blue, threads are
// matched by name, and where nothing changed the page says so.
//
//   WRITE_EXPORTS=... node --test dropped_test.js     run by npm_packages.py
'use strict';
const assert = require('node:assert/strict');
const fs = require('node:fs');
const {after, before, test} = require('node:test');
const {Browser, ProfilePage, VIEW} = require('./page_driver.js');

let browser;
let marked;
before(async () => {
  browser = await Browser.launch();
  marked = await import('./marked.mjs');
});
after(() => browser?.close());

// Two threads; how often each of two functions was met.
const profileOf = (solve, smooth, worker = 'worker') =>
  `main;run;solve ${solve}\nmain;run;smooth ${smooth}\nmain;rest 40\n# thread 101 ${worker}\nstart;work 200\n`;

async function dropped(page, file) {
  const text = fs.readFileSync(file, 'utf8');
  await page.page.evaluate(([content]) => {
    const data = new DataTransfer();
    data.items.add(new File([content], 'other.html', {type: 'text/html'}));
    dispatchEvent(new DragEvent('drop', {dataTransfer: data, cancelable: true}));
  }, [text]);
  await page.page.waitForSelector('.verdict, .said:not([hidden])');
  await page.settled();
}
const alone = page => page.page.waitForSelector('.verdict', {state: 'detached'});
const compared = (a, b, fn) => marked.withPage(a, one => marked.withPage(b, async two => {
  const page = await ProfilePage.open(browser, one);
  await dropped(page, two);
  return fn(page);
}));

test('what changed beyond chance', () => compared(profileOf(400, 100), profileOf(150, 350), async page => {
  assert.match(await page.text('.verdict'), /^2 of \d+ functions changed beyond chance$/);
  await page.show('table');
  const rows = await page.rows();
  assert.deepEqual(rows.slice(0, 2).map(row => row.Function).sort(), ['smooth', 'solve']);
  const change = Object.fromEntries(rows.map(row => [row.Function, parseFloat(row.Change)]));
  const all = 400 + 100 + 40 + 200;
  assert.ok(Math.abs(change.smooth - 100 * 250 / all) < 0.1, `${change.smooth}`);
  assert.ok(Math.abs(change.solve + 100 * 250 / all) < 0.1, `${change.solve}`);
  assert.equal(await page.page.getAttribute(`${VIEW} tr[data-func] .grew`, 'class'), 'grew');
  const threads = await page.page.$$eval('#threads .thread', found => found.map(each =>
    [each.querySelector('.name').textContent, each.querySelector('.hint').textContent]));
  assert.deepEqual(threads, [['app', 'A and B'], ['worker', 'A and B']]);
  await page.click('[data-action=end-comparison]');
  await alone(page);
  assert.equal(await page.page.$('[value=diff]'), null);
}));

test('a comparison is a step: Back ends it, Forward brings it back; the address says only what it can restore', async () => {
  const [a, b] = [profileOf(400, 100), profileOf(150, 350)];
  await marked.withPage(a, one => marked.withPage(b, async two => {
    const page = await ProfilePage.open(browser, one, 'view=table', {permissions: ['clipboard-read', 'clipboard-write']});
    const shown = () => page.page.getAttribute('#toolbar [role=tab][aria-selected=true]', 'data-view');
    const address = page.page.url();
    await dropped(page, two);
    assert.equal(await shown(), 'table', 'it looks as the page did');
    await page.show('icicle');
    await page.clickOn((await page.boxes()).find(({name}) => name === 'smooth'));
    await page.field('');
    assert.equal(page.page.url(), address);
    await page.click('[data-action=copyLink]');
    assert.match(await page.text('.said'), /^a link cannot bring back/);
    for (const view of ['icicle', 'table']) {
      await page.page.goBack();
      await page.settled();
      assert.equal(await shown(), view);
      assert.ok(await page.page.isVisible('.verdict'), 'steps within it');
    }
    await page.page.goBack();
    await alone(page);
    assert.equal(page.page.url(), address);
    await page.page.goForward();
    await page.page.waitForSelector('.verdict');
    await page.page.goForward();
    await page.settled();
    assert.equal(await shown(), 'icicle');
    await dropped(page, one);
    await page.page.waitForSelector('.verdict:has-text("Nothing")');  // it is compared with the page, too
    await page.click('[data-action=back]');
    await page.page.waitForSelector('.verdict:has-text("changed beyond chance"):not(:has-text("Nothing"))');
    await page.page.goForward();
    await page.page.waitForSelector('.verdict:has-text("Nothing")');
    await page.click('[data-action=end-comparison]');
    await alone(page);
    assert.equal(await shown(), 'table');
    await page.page.goForward();
    await page.page.waitForSelector('.verdict');
    await page.page.reload();
    await page.settled();
    assert.equal((await page.page.$$('.verdict')).length, 0, 'the file is gone');
    assert.equal(await shown(), 'table');
  }));
});

test('nothing changed, and a thread that only one has', () => compared(profileOf(400, 100), profileOf(405, 95, 'other'), async page => {
  assert.match(await page.text('.verdict'), /^Nothing changed beyond chance, in \d+ functions$/);
  const threads = await page.page.$$eval('#threads .thread', found => found.map(each =>
    [each.querySelector('.name').textContent, each.querySelector('.hint').textContent]));
  assert.deepEqual(threads, [['app', 'A and B'], ['worker', 'only A'], ['other', 'only B']]);
}));

test('a file that is no page is refused, and the page stays', () => marked.withPage(profileOf(10, 10), async file => {
  const page = await ProfilePage.open(browser, file);
  await dropped(page, __filename);
  assert.equal(await page.text('.said'), 'other.html: it is no profile.html of sampan');
  assert.equal((await page.page.$$('.verdict')).length, 0);
}));
