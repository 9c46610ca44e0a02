// Markers in the timeline of a page, in Chromium: hover, click, search; and 100,000 of them.
//
//   WRITE_EXPORTS=... node --test marked_test.js     run by npm_packages.py
'use strict';
const assert = require('node:assert/strict');
const {after, before, test} = require('node:test');
const {Browser, near, ProfilePage} = require('./page_driver.js');

const LINE = '#timeline canvas';
let browser;
let marked;
before(async () => {
  browser = await Browser.launch();
  marked = await import('./marked.mjs');
});
after(() => browser?.close());

// Where a time is in a row, and in which of its lanes.
const placeOf = (page, label, ms, lane) => page.page.$eval(LINE, ({timeline}, [name, at, depth]) => {
  const row = timeline.rows().find(each => each.label === name);
  return {x: timeline.xOf(at * 1e6), y: row.y + 13 * depth + 5};
}, [label, ms, lane]);
const lines = page => page.tooltip();
const at = async (page, ...place) => {
  await page.pointAt(await placeOf(page, ...place), LINE);
  await page.settled();
  return lines(page);
};

test('hover, click and search', () => marked.withPage(marked.kMarked, async file => {
  const page = await ProfilePage.open(browser, file);
  const rows = await page.page.$eval(LINE, ({timeline}) => timeline.rows().map(row => [row.kind, row.label]));
  assert.deepEqual(rows, [['sections', 'sections'], ['counter', 'queue'], ['thread', 'app'], ['thread', 'worker']]);

  assert.deepEqual((await at(page, 'worker', 15, 0)).slice(0, 3), ['handle', '20.0 ms, from 10.0 ms', 'order <42>']);
  assert.deepEqual((await at(page, 'worker', 15, 1)).slice(0, 3), ['parse', '7.50 ms, from 12.5 ms', 'in handle']);
  assert.ok((await at(page, 'worker', 25, 1)).includes('closed by the end of its thread'));
  assert.ok((await at(page, 'app', 50, 0)).includes('ended by worker'));
  assert.deepEqual((await at(page, 'sections', 30, 0)).slice(0, 3), ['phase', '38.0 ms, from 2.00 ms', 'section of all threads']);
  assert.ok((await at(page, 'sections', 20, 1)).includes('section of worker'));
  assert.deepEqual(await at(page, 'worker', 70, 2), ['flush', 'at 70.0 ms', 'full']);
  assert.deepEqual(await at(page, 'queue', 5, 0), ['queue', '1.5 since 3.00 ms']);
  assert.deepEqual((await at(page, 'worker', 90, 0)).slice(0, 1), ['worker'], 'no marker: what the thread did');

  const plain = await page.picture(LINE);
  assert.match(await page.search('pars|42'), / · 2 markers$/);
  assert.notEqual(await page.picture(LINE), plain, 'what is found stands out');
  await page.search('');

  assert.equal(await page.field('threads'), null);
  const {x, y} = await placeOf(page, 'worker', 15, 1);
  const box = await (await page.page.$(LINE)).boundingBox();
  await page.page.mouse.click(box.x + x, box.y + y);
  await page.settled();
  near(Number(await page.field('from')), 12.5e6, 1, 'begin');
  near(Number(await page.field('to')), 20e6, 1, 'end');
  assert.equal(await page.field('threads'), '1', 'its thread, too');
  // At 16 ms, in its thread; what is taken at the end belongs to what follows.
  assert.match(await page.status(), /1 of 2 threads .* 4\.00 ms in 1 sample/);
}));

test('tables of markers; one of them selects its time and thread', () => marked.withPage(marked.kMarked, async file => {
  const page = await ProfilePage.open(browser, file, 'view=markers');
  const rows = label => page.page.$$eval(`#view table[aria-label=${label}] tbody tr`, found =>
    found.map(row => [...row.cells].map(cell => cell.textContent)));
  assert.deepEqual((await rows('Spans')).find(([name]) => name === 'handle'), ['handle', '1', '20.0 ms', '20.0 ms', '20.0 ms', '20.0 ms', '20.0 ms']);
  assert.deepEqual(await rows('Events'), [['flush', '1', '']]);
  assert.deepEqual((await rows('Counters')).map(row => [row[0], row[1], row[2], row[5]]), [['queue', '2', '-4', '1.500']]);
  assert.deepEqual((await rows('Sections')).map(([name]) => name), ['phase', 'infer_1']);
  await page.click('#view table[aria-label=Spans] button:text-is("parse")');
  assert.ok(await page.page.isVisible('#view .marker-chosen .plot'));
  await page.click('[data-action=select-marker]');
  near(Number(await page.field('from')), 12.5e6, 1, 'begin');
  assert.equal(await page.field('threads'), '1');
}));

test('the marker that is chosen is in the address, and Back undoes it', () => marked.withPage(marked.kMarked, async file => {
  const page = await ProfilePage.open(browser, file, 'view=markers');
  const chosen = async () => [await page.text('#view .marker-chosen h2'),
    await page.page.$$eval('#view .marker-names [aria-selected=true]', rows => rows.map(row => row.cells[0].textContent))].flat();
  const [first] = await chosen();
  for (const name of ['parse', 'queue']) {
    await page.click(`#view .marker-names button:text-is("${name}")`);
    assert.deepEqual(await chosen(), [name, name]);
  }
  assert.equal(await page.field('marker'), 'counter queue');
  const link = new URL(page.page.url()).hash.slice(1);
  for (const name of ['parse', first]) {
    await page.page.goBack();
    await page.settled();
    assert.deepEqual(await chosen(), [name, name]);
  }
  const other = await ProfilePage.open(browser, file, link);
  assert.equal(await other.text('#view .marker-chosen h2'), 'queue');
  const wrong = await ProfilePage.open(browser, file, 'view=markers&marker=span+gone');
  assert.equal(await wrong.text('#view .marker-chosen h2'), first);
}));

test('threads that only wait can be hidden, in the list, too', () => marked.withPage('main;work 3\n# thread 101 sleeper\nstart;~futex:[7] 50\n', async file => {
  const page = await ProfilePage.open(browser, file);
  const names = () => page.texts('#threads .thread .name');
  assert.deepEqual(await names(), ['app', 'sleeper']);
  await page.click('[data-action=menu]');
  await page.click('[data-switch=idle]');
  assert.deepEqual(await names(), ['app']);
  assert.match(await page.status(), /in 3 samples/);
  await page.click('[data-action=undo]');
  assert.deepEqual(await names(), ['app', 'sleeper']);
}));

// 64 threads that wait; two at a time compute during the first 16 ticks, and one during the next 32.
const kPool = ['main 1', ...Array.from({length: 64}, (_, i) => {
  const tick = i < 32 ? i >> 1 : i - 16;
  return `# thread ${101 + i} worker-${i}\n${tick ? `start;~futex:[7] ${tick}\n` : ''}start;work 1\nstart;~futex:[7] ${48 - tick}`;
})].join('\n') + '\n';

test('the row of a pool is as high as the CPUs that it used, however many its threads', () => marked.withPage(kPool, async file => {
  const page = await ProfilePage.open(browser, file);
  const colorsAt = share => page.page.$eval(LINE, (canvas, at) => {
    const {timeline} = canvas;
    const row = timeline.rows().find(({kind}) => kind === 'pool');
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {willReadFrequently: true});
    copy.drawImage(canvas, 0, 0);
    const ratio = canvas.width / canvas.clientWidth;
    return [0.25, 0.75].map(down => {
      const [red, , blue] = copy.getImageData(at * canvas.clientWidth * ratio, (row.y + down * row.height) * ratio, 1, 1).data;
      return blue > red + 30 ? 'on CPU' : 'waits';
    });
  }, share);
  assert.deepEqual(await colorsAt(8 / 49), ['on CPU', 'on CPU']);
  assert.deepEqual(await colorsAt(32 / 49), ['waits', 'on CPU']);
  const row = await page.page.$eval(LINE, ({timeline}) => timeline.rows().find(({kind}) => kind === 'pool'));
  await page.pointAt({x: 200, y: row.y + 10}, LINE);
  assert.match((await page.tooltip()).at(-1), /^the row's height is 2 (of \d+ )?CPUs$/);
}));

test('100,000 spans', async () => {
  const spans = Array.from({length: 100000}, (_, i) =>
    `! span 100 ${(i * 0.001).toFixed(6)} ${(i * 0.001 + 0.0009).toFixed(6)} request_${i % 50}`);
  await marked.withPage(`main 25\n${spans.join('\n')}\n`, async file => {
    const page = await ProfilePage.open(browser, file);
    assert.match((await at(page, 'app', 50, 0))[0], /^request_\d+$/);
    assert.match(await page.search('^request_7$'), / · 2,000 markers$/);
  });
});
