// A page that compares two recordings: what grew is red, what shrank is blue, what could be chance
// is neither.
//
//   PAGE=compared.html node --test compared_test.js     of synthetic_page.mjs, run by npm_packages.py
'use strict';
const assert = require('node:assert/strict');
const {after, before, test} = require('node:test');
const {Browser, CHART, ProfilePage, VIEW} = require('./page_driver.js');

let browser;
let page;
before(async () => {
  browser = await Browser.launch();
  page = await ProfilePage.open(browser, process.env.PAGE);
});
after(() => browser.close());

test('the table has both sides, and what changed first', async () => {
  await page.show('table');
  const [first, ...others] = await page.rows();
  assert.equal(first.Function, 'work', 'the synthetic change');
  const change = parseFloat(first.Change);
  assert.ok(change > 20, first.Change);
  assert.ok(Math.abs(parseFloat(first['B %']) - parseFloat(first['A %']) - change) < 0.2);
  assert.equal(await page.page.getAttribute(`${VIEW} tr[data-func] .grew`, 'class'), 'grew');
  assert.ok(others.some((row) => parseFloat(row.Change) < 0), 'shares of the others shrank');
  const unsure = await page.texts(`${VIEW} .unsure`);
  for (const text of unsure) {
    const [difference, error] = text.split('±').map(parseFloat);
    assert.ok(Math.abs(difference) <= error + 0.06, text);
  }
});

test('a frame that is zoomed to is in view with what it calls, however deep it is', async () => {
  for (const [view, edge] of [['flame', 'bottom'], ['icicle', 'top']]) {
    const open = fragment => ProfilePage.open(browser, process.env.PAGE, fragment, {viewport: {width: 1200, height: 500}});
    const low = await open(`view=${view}`);
    const height = await low.page.$eval(CHART, canvas => canvas.clientHeight);
    const {row, index} = await low.page.$eval(CHART, ({chart}) => {
      const boxes = chart.boxes();
      const index = boxes.findLastIndex(box => !box.merged && box.row >= 15 && box.width > 8);
      return {row: boxes[index].row, index};
    });
    assert.ok(row * 20 > height, 'it has more callers than there is room for');
    await low.reveal(index);
    await low.clickOn((await low.boxes())[index]);
    for (const page of [low, await open(`view=${view}&zoom=${await low.field('zoom')}`)]) {
      const zoomed = (await page.boxes()).find(box => box.row === row);
      const away = edge === 'top' ? zoomed.y : height - zoomed.y;
      // Further away only where all of what it calls is in view.
      const isAtEnd = await page.page.$eval(`${VIEW} .chart`, ({scrollTop, clientHeight, scrollHeight}, top) =>
        top ? scrollTop + clientHeight > scrollHeight - 1 : scrollTop === 0, edge === 'top');
      assert.ok(away > 0 && (away < 80 || isAtEnd), `${view}: ${away} pixels from the ${edge}`);
    }
  }
});

test('by change, the frame that grew is red, and others are not', async () => {
  await page.show('leftheavy');
  const byChange = await page.picture();
  await page.select('[aria-label="Colour by"]', 'module');
  assert.notEqual(await page.picture(), byChange);
  await page.select('[aria-label="Colour by"]', 'diff');
  const redness = await page.page.$eval(CHART, (canvas) => {
    const ratio = canvas.width / canvas.clientWidth;
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {willReadFrequently: true});
    copy.drawImage(canvas, 0, 0);
    return canvas.chart.boxes().filter((box) => !box.merged && box.width > 20).map((box) => {
      const {y} = canvas.chart.placeOf(box);
      const [r, , b] = copy.getImageData((box.x + 2) * ratio, (y - 7) * ratio, 1, 1).data;
      return {name: canvas.chart.nameOf(box), red: r - b, width: box.width};
    });
  });
  const work = redness.filter(({name}) => name === 'work').sort((a, b) => b.width - a.width)[0];
  assert.ok(work.red > 30, JSON.stringify(work));
  assert.ok(redness.some(({red}) => red < -10), 'something shrank');
  assert.deepEqual(await page.texts('.legend-item'), ['less in B', 'more in B', 'no sure change']);
});
