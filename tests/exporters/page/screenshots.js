// The pictures of the page in docs/images, of a recording of pictured.cpp with --clock wall:
//
//   tests/support/npm_packages.py node tests/exporters/page/screenshots.js profile.html docs/images
//
// and, if they are named behind them: page-markers and page-percentiles of one of `examples/service --requests 1000`;
// page-diff of the page of two runs (sampan diff --html);
// page-heap and page-locks of pictured.cpp with --heap=16K and --locks;
// page-python-threads, -asyncio, -workers and -extension of the programs in examples/python (threads: with --clock wall).
//
// They are small enough to be kept in the repository, or it says so.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const {Browser, ProfilePage} = require('./page_driver.js');

const MOST_BYTES = 150_000;
const [file, directory, wanted] = process.argv.slice(2);

// A span under the pointer, in the rows of a pool.
async function showSpan(page) {
  await page.click('#threads .thread.pool .twist');
  await page.page.evaluate(() => document.documentElement.style.setProperty('--tracks-height', '330px'));
  await page.settled();
  const place = await page.page.$eval('#timeline canvas', ({timeline}) => {
    const row = timeline.rows().find(({lanes, kind}) => kind === 'thread' && lanes);
    return {x: timeline.xOf(timeline.durationNs * 0.3), y: row.y + 6};
  });
  await page.pointAt(place, '#timeline canvas');
}

// The frame of this function that is widest, unfolded if it is in a chain.
const chooseFunction = name => async page => {
  const widest = async () => (await page.boxes()).map((box, at) => ({...box, at}))
    .filter(box => box.name === name || box.name.startsWith(`${name}(`)).sort((a, b) => b.width - a.width)[0]?.at;
  await page.settled();
  let index = await widest();
  if (index === undefined) {
    await page.press('z');
    index = await widest();
  }
  await page.reveal(index);
  await page.settled();
  await page.clickOn((await page.boxes())[index]);
  await page.press('0');
  await page.reveal(index);
  await page.settled();
};
const choosePrice = chooseFunction('shop::price');

// A function with its callers and callees.
async function showCallers(page) {
  await choosePrice(page);
  await page.click('button:has-text("Callers and callees")');
}

// The tree, unfolded to where the time is.
async function unfold(page) {
  await page.page.focus('#view .pane:not([hidden]) .table-scroller');
  for (const key of ['Home', '*']) await page.press(key);
}

// What can be done with a frame.
async function showMenu(page) {
  await page.settled();
  const frame = (await page.boxes()).filter(box => !box.merged && box.seen && box.width > 200).sort((a, b) => a.y - b.y)[0];
  const {x, y} = await page.pointAt(frame);
  await page.page.mouse.click(x, y, {button: 'right'});
  await page.settled();
}

const PICTURES = {
  'page-flame': {fragment: 'view=flame&state=cpu', prepare: choosePrice},
  'page-sandwich': {fragment: 'view=flame&state=cpu', prepare: showCallers},
  'page-menu': {fragment: 'view=flame&state=cpu', prepare: showMenu, size: {width: 900, height: 700}},
  'page-tree': {fragment: 'view=tree&state=cpu&theme=dark&do=s', prepare: unfold, size: {width: 900, height: 700}},
  'page-large': {fragment: 'view=flame&theme=dark', size: {width: 1600, height: 1000}},
  'page-phone': {fragment: 'view=flame&state=cpu', size: {width: 390, height: 844}},
  'page-percentiles': {fragment: 'view=markers', named: true},
  'page-diff': {fragment: 'view=flame', named: true},
  'page-heap': {fragment: 'view=flame&samples=allocated', prepare: chooseFunction('shop::price'), named: true},
  'page-locks': {fragment: 'view=locks&samples=locks', named: true},
  'page-markers': {fragment: 'view=flame', prepare: showSpan, named: true},
  'page-python-threads': {fragment: 'view=flame', prepare: chooseFunction('brightness'), named: true},
  'page-python-asyncio': {fragment: 'view=flame', prepare: chooseFunction('parse'), named: true},
  'page-python-workers': {fragment: 'view=flame', prepare: chooseFunction('collatz'), named: true},
  'page-python-extension': {fragment: 'view=flame', prepare: chooseFunction('score'), named: true},
};

(async () => {
  const browser = await Browser.launch();
  fs.mkdirSync(directory, {recursive: true});
  for (const [name, {fragment, prepare, named = false, size = {width: 940, height: 600}}] of Object.entries(PICTURES)) {
    if (wanted ? name !== wanted : named) continue;
    const page = await ProfilePage.open(browser, file, fragment, {viewport: size});
    await prepare?.(page);
    if (!named) await page.page.mouse.move(0, 0);
    await page.page.evaluate(() => document.activeElement.blur());
    await page.settled();
    const to = path.join(directory, `${name}.png`);
    const picture = await page.page.screenshot();
    console.log(`${to}: ${picture.length} bytes`);
    if (picture.length > MOST_BYTES) throw new Error(`${to} has more than ${MOST_BYTES} bytes`);
    fs.writeFileSync(to, picture);
    await page.page.close();
  }
  await browser.close();
})();
