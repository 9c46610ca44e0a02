// The pictures of the page in docs/images:
//
//   tests/support/npm_packages.py node tests/viewer/screenshots.js profile.html docs/images
//
// They are small enough to be kept in the repository, or it says so.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const {Browser, CHART, ProfilePage} = require('./page_driver.js');

const MOST_BYTES = 150_000;
const [file, directory] = process.argv.slice(2);

// A frame that people would look at.
async function chooseFrame(page) {
  const width = await page.chartWidth();
  const frame = (await page.boxes()).filter(box => !box.merged && box.seen && box.width < 0.5 * width)
    .sort((a, b) => b.width - a.width)[0];
  await page.page.focus(CHART);
  await page.clickOn(frame);
  await page.press('0');
}

const PICTURES = {
  'page-flame': {fragment: 'view=flame', prepare: chooseFrame},
  'page-dark': {fragment: 'view=leftheavy&theme=dark', prepare: chooseFrame},
  'page-timeorder': {fragment: 'view=timeorder'},
  'page-sunburst': {fragment: 'view=sunburst'},
  'page-sandwich': {fragment: 'view=sandwich', prepare: page => page.click('.sandwich-list tbody tr:nth-child(3)')},
  'page-table': {fragment: 'view=table', prepare: page => page.click('table.functions tbody tr:nth-child(2)')},
};

(async () => {
  const browser = await Browser.launch();
  fs.mkdirSync(directory, {recursive: true});
  for (const [name, {fragment, prepare}] of Object.entries(PICTURES)) {
    const page = await ProfilePage.open(browser, file, fragment, {viewport: {width: 1280, height: 760}});
    await prepare?.(page);
    await page.page.mouse.move(0, 0);
    await page.settled();
    const to = path.join(directory, `${name}.png`);
    await page.page.screenshot({path: to});
    const {size} = fs.statSync(to);
    console.log(`${to}: ${size} bytes`);
    if (size > MOST_BYTES) throw new Error(`${to} has more than ${MOST_BYTES} bytes`);
    await page.page.close();
  }
  await browser.close();
})();
