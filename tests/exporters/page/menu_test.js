// The menu on a frame, in Chromium: by the right button and by keys, in every view that has frames.
//
//   WRITE_EXPORTS=... node --test menu_test.js     run by npm_packages.py
'use strict';
const assert = require('node:assert/strict');
const {after, before, test} = require('node:test');
const {Browser, CHART, ProfilePage, VIEW} = require('./page_driver.js');

const STACKS = 'main;run;solve;step 400\nmain;run;smooth 100\nmain;rest 40\n';
const MENU = '.frame-menu:not([hidden])';
const ACTIONS = ['copy-stack', 'copy-name', 'sandwich', 'search-name', 'focus', 'callers', 'merge', 'drop', 'library', 'recursion'];

let browser;
let marked;
before(async () => {
  browser = await Browser.launch();
  marked = await import('./marked.mjs');
});
after(() => browser?.close());

const opened = (fn, fragment = '', options = {}) => marked.withPage(STACKS, async file => fn(await ProfilePage.open(browser, file, fragment,
  {permissions: ['clipboard-read', 'clipboard-write'], ...options})));
const items = page => page.page.$$eval(`${MENU} [role=menuitem]`, found => found.map(each => each.dataset.action));
const title = page => page.page.getAttribute(`${MENU} [role=menu]`, 'aria-label');
const isOpen = page => page.page.isVisible(MENU);
async function rightClick(page, place, selector = CHART) {
  const {x, y} = await page.pointAt(place, selector);
  await page.page.mouse.click(x, y, {button: 'right'});
  await page.settled();
}
const boxOf = async (page, name, selector = CHART) => (await page.boxes(selector)).find(box => box.name === name);

test('on the frames of every chart', () => opened(async page => {
  for (const view of ['flame', 'icicle', 'leftheavy', 'timeorder']) {
    await page.show(view);
    await rightClick(page, await boxOf(page, 'solve'));
    assert.equal(await title(page), 'solve', view);
    assert.deepEqual(await items(page), ACTIONS, view);
    assert.equal(await page.field('focus'), null, 'it chooses nothing by itself');
    await page.press('Escape');
    assert.ok(!await isOpen(page), view);
  }
  await page.show('sunburst');
  const arc = await page.page.$eval(CHART, ({arcs}) => arcs.placeOf(arcs.all.find(({row}) => row === 1)));
  await page.pointAt(arc);
  const [name] = await page.tooltip();
  await rightClick(page, arc);
  assert.equal(await title(page), name);
  assert.deepEqual(await page.page.$$('.tooltip:not([hidden])'), [], 'not below a tooltip');
  await page.click(`${MENU} [data-action=sandwich]`);
  const slice = `${VIEW} .slice:nth-of-type(1) canvas`;
  const caller = (await page.boxes(slice)).find(({row}) => row === 1);
  await rightClick(page, caller, slice);
  assert.equal(await title(page), caller.name, 'a caller');
}));

test('on the rows of tables and of the tree', () => opened(async page => {
  for (const view of ['table', 'tree', 'sandwich']) {
    await page.show(view);
    await page.page.click(`${VIEW} :is(tr[data-func], tr[data-node]):has-text("run")`, {button: 'right'});
    assert.equal(await title(page), 'run', view);
    assert.deepEqual(await items(page), ACTIONS, view);
    await page.press('Escape');
  }
}));

test('what it offers is what the details offer, and does the same', () => opened(async page => {
  await page.clickOn(await boxOf(page, 'solve'));
  assert.deepEqual(await page.page.$$eval('#details .actions button', found => found.map(each => each.dataset.action)), ACTIONS);
  await page.press('0');
  await rightClick(page, await boxOf(page, 'smooth'));
  await page.click(`${MENU} [data-action=copy-stack]`);
  assert.deepEqual((await page.clipboard()).split('\n').map(line => line.split(' ')[0]), ['main', 'run', 'smooth'], 'of the frame that was pointed at');
  await rightClick(page, await boxOf(page, 'smooth'));
  await page.click(`${MENU} [data-action=drop]`);
  assert.match(await page.field('do'), /^d\d+$/);
  assert.equal(await boxOf(page, 'smooth'), undefined);
  await rightClick(page, await boxOf(page, 'solve'));
  await page.click(`${MENU} [data-action=recursion]`);
  assert.match(await page.field('do'), /^d\d+\.r$/);
  await rightClick(page, await boxOf(page, 'solve'));
  assert.ok(!(await items(page)).includes('recursion'), 'it is collapsed already');
}, 'fold=0'));

for (const key of ['ContextMenu', 'Shift+F10']) {
  test(`by keys: ${key}, arrows, Enter, Escape`, () => opened(async page => {
    await page.page.focus(CHART);
    await page.press(key);
    assert.ok(!await isOpen(page), 'nothing is chosen');
    for (const step of ['ArrowDown', 'ArrowDown', key]) await page.press(step);
    assert.equal(await title(page), 'run');
    const {x, y} = await page.page.$eval(MENU, menu => menu.getBoundingClientRect());
    const place = await boxOf(page, 'run');
    const chart = await (await page.page.$(CHART)).boundingBox();
    assert.ok(Math.abs(x - chart.x - place.x) < 2 && Math.abs(y - chart.y - place.y) < 2, 'at the frame');
    const focused = () => page.page.evaluate(() => document.activeElement.dataset.action ?? document.activeElement.tagName);
    const seen = [await focused()];
    for (const step of ['ArrowUp', 'ArrowDown', 'End', 'Home', 'ArrowDown']) {
      await page.press(step);
      seen.push(await focused());
    }
    assert.deepEqual(seen, ['copy-stack', 'recursion', 'copy-stack', 'recursion', 'copy-stack', 'copy-name']);
    await page.press('z');
    assert.equal(await page.field('fold'), '0', 'keys of the page are not meant');
    await page.press('Escape');
    assert.equal(await focused(), 'CANVAS');
    assert.equal(await page.text('.function-title'), 'run', 'what is chosen stays');
    await page.press(key);
    for (let i = 0; i < 4; ++i) await page.press('ArrowDown');
    await page.press('Enter');
    assert.match(await page.field('do'), /^f\d+$/);
    await page.show('table');
    await page.page.focus(`${VIEW} .table-scroller`);
    for (const step of ['Home', 'ArrowDown', key]) await page.press(step);
    assert.equal(await title(page), await page.text('#details .function-title'));
  }, 'view=icicle&fold=0'));
}

test('it closes when something else is done, and is within the window', () => opened(async page => {
  const show = async () => {
    await rightClick(page, await boxOf(page, 'step'));
    assert.ok(await isOpen(page));
  };
  await show();
  await page.page.mouse.click(5, 5);
  assert.ok(!await isOpen(page), 'a click elsewhere');
  await show();
  await page.page.mouse.move(300, 100);
  await page.page.mouse.wheel(0, 50);
  await page.settled();
  assert.ok(!await isOpen(page), 'scrolled');
  await show();
  await page.press('Tab');
  assert.ok(!await isOpen(page), 'Tab');
  for (const size of [{width: 390, height: 400}, {width: 900, height: 700}]) {
    await page.page.setViewportSize(size);
    await page.settled();
    const {x, width, y} = await boxOf(page, 'step');
    await rightClick(page, {x: x + width / 2 - 6, y});
    const {left, top, right, bottom} = await page.page.$eval(MENU, menu => menu.getBoundingClientRect().toJSON());
    assert.ok(left >= 0 && top >= 0 && right <= size.width && bottom <= size.height, `${left},${top} to ${right},${bottom}`);
    await page.press('Escape');
  }
}, 'view=icicle&fold=0'));
