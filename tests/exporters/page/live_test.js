// A page that follows a process, in Chromium: new samples come, and what was chosen stays.
//
//   URL=http://127.0.0.1:PORT/?every=1 node --test live_test.js     run by tests/e2e/serve_redis_test.py
'use strict';
const assert = require('node:assert/strict');
const {after, before, test} = require('node:test');
const {Browser, ProfilePage} = require('./page_driver.js');

const kPatienceMs = 20_000;

let browser;
let page;

before(async () => {
  browser = await Browser.launch();
  page = await ProfilePage.open(browser, process.env.URL);
});
after(() => browser.close());

const samples = async () => Number((await page.text('[data-figure="samples"] dd')).replaceAll(',', ''));

// Until the page shows other data than now.
async function refreshed() {
  await page.page.evaluate(() => { document.getElementById('header').firstElementChild.dataset.old = '1'; });
  await page.page.waitForFunction(() => !document.querySelector('#header [data-old]'), null, {timeout: kPatienceMs});
  await page.settled();
}

test('what is new is shown', async () => {
  const first = await samples();
  await refreshed();
  await refreshed();
  assert.ok(await samples() > first, `${await samples()} samples, ${first} before`);
});

test('the view, the search and the chosen function stay', async () => {
  await page.show('table');
  await page.search('epoll');
  await page.page.evaluate(() => document.activeElement.blur());
  const name = 'epoll_wait';
  await page.page.locator('#view .pane:not([hidden])').getByText(name, {exact: true}).first().click();
  await page.settled();
  assert.ok((await page.text('#details')).includes(name));
  await refreshed();
  await refreshed();
  assert.equal(await page.page.inputValue('#search'), 'epoll');
  assert.equal(await page.field('view'), 'table');
  assert.ok((await page.text('#details')).includes(name), 'the function is still chosen');
});

test('a thread that is chosen stays chosen', async () => {
  await page.press('Escape');
  await page.click('[data-action=reset]');
  await page.page.locator('#threads').getByText('bio_close_file').first().click();
  await page.settled();
  const chosen = await page.field('threads');
  assert.notEqual(chosen, null);
  await refreshed();
  assert.notEqual(await page.field('threads'), null);
  const text = await page.page.evaluate(() => [...document.querySelectorAll('#threads [aria-selected=true], #threads .chosen')]
    .map(each => each.textContent).join(' '));
  assert.match(text, /bio_close_file/);
  await page.click('[data-action=reset]');
});

test('it holds still when it is asked to, and goes on', async () => {
  await page.click('[data-action=live]');
  await page.page.evaluate(() => { document.getElementById('header').firstElementChild.dataset.old = '1'; });
  await page.page.waitForTimeout(2500);
  assert.equal(await page.page.evaluate(() => document.querySelectorAll('#header [data-old]').length), 1);
  await page.click('[data-action=live]');
  await refreshed();
});

test('nothing of pages before is left over', async () => {
  for (const selector of ['#help', '.tooltip', '.said', '[data-action=live]', '#search', 'h1']) {
    assert.equal(await page.page.locator(selector).count(), 1, selector);
  }
});

test('a comparison holds still, and is ended by Back', async () => {
  await page.page.evaluate(async () => {
    const data = new DataTransfer();
    data.items.add(new File([await (await fetch(location.href)).text()], 'before.html', {type: 'text/html'}));
    dispatchEvent(new DragEvent('drop', {dataTransfer: data, cancelable: true}));
  });
  await page.page.waitForSelector('.verdict');
  await page.page.evaluate(() => { document.getElementById('header').firstElementChild.dataset.old = '1'; });
  await page.page.waitForTimeout(2500);
  assert.ok(await page.page.$('#header [data-old]'));
  await page.page.goBack();
  await page.page.waitForSelector('.verdict', {state: 'detached'});
  assert.ok(await page.page.isVisible('[data-action=live]'));
  await refreshed();
});
