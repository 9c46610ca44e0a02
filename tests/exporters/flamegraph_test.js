// What a person does with a flame graph, done in Chromium: flamegraph_test.js FILE.svg, the export of
// consumer_profile.txt. Run by npm_packages.py.
'use strict';
const assert = require('assert');
const {Browser} = require('../support/browser.js');

const PARSE = "(anonymous namespace)::parse(char const*, 'é')";
const MAP = 'std::map<int, Pair<A, B>, std::less<int>>::find(int const&) const';

// The frames that are to be seen, as [name, x, width, label], in the file's order.
const drawn = page => page.evaluate(() =>
  [...document.querySelectorAll('g.frame')].filter(frame => frame.style.display !== 'none').map(frame => {
    const rect = frame.querySelector('rect');
    return {name: frame.querySelector('title').textContent.split('\n')[0],
            x: Number(rect.getAttribute('x')), width: Number(rect.getAttribute('width')),
            label: frame.querySelector('text')?.textContent ?? ''};
  }));
const text = (page, id) => page.evaluate(id => document.getElementById(id).textContent, id);
const matches = page => page.evaluate(() => [...document.querySelectorAll('g.match title')].map(
  title => title.textContent.split('\n')[0]));
const frame = (page, name) => page.locator('g.frame').filter({has: page.locator('title', {hasText: name})}).first();

async function main() {
  const browser = await Browser.launch();
  const page = await browser.open(process.argv[2], {viewport: {width: 1200, height: 800}});

  // The picture: 32 samples, 17 of the thread "app".
  const all = await drawn(page);
  assert.deepStrictEqual(all[0], {name: 'all', x: 0, width: 1200, label: 'all'});
  assert.deepStrictEqual(all[1], {name: 'app', x: 0, width: 637.5, label: 'app'});
  assert.strictEqual(all.filter(box => box.name === 'fib(int)').length, 4);
  for (const name of [PARSE, MAP, 'operator<< <char, "x">(Stream&, char)', '[libm.so.6+0x1030]', '[unknown]']) {
    assert.strictEqual(all.filter(box => box.name === name).length, 1, name);
  }

  // Details of what the pointer is on.
  await frame(page, PARSE).hover();
  assert.match(await text(page, 'details'), /^\(anonymous.* app, src\/parse.cpp:20 .* 20 ms, 15.62 %, 5 samples; self 0 ms$/);

  // Zoom: the frame and its callers are as wide as the picture, others are gone.
  await frame(page, PARSE).click();
  assert.deepStrictEqual((await drawn(page)).map(box => [box.name, box.x, box.width]),
    [['all', 0, 1200], ['app', 0, 1200], ['_start', 0, 1200], ['main', 0, 1200], [PARSE, 0, 1200], ['is_space', 0, 1200]]);
  assert.strictEqual((await drawn(page))[4].label, PARSE);
  await page.locator('#reset').click();
  assert.deepStrictEqual(await drawn(page), all);
  assert.ok(!await page.locator('#reset').isVisible());

  // Search: by Ctrl-F and by "/", with regular expressions; a recursive function counts once.
  await page.keyboard.press('Control+f');
  await page.keyboard.type('^fib|is_');
  assert.deepStrictEqual(await matches(page), ['fib(int)', 'fib(int)', 'fib(int)', 'is_space', 'fib(int)']);
  assert.strictEqual(await text(page, 'matched'), `matched: ${(100 * 11 / 32).toFixed(2)} %`);
  await page.keyboard.press('Escape');
  assert.deepStrictEqual(await matches(page), []);
  await page.keyboard.press('/');
  await page.keyboard.type('less<int>>::find\\(');
  assert.deepStrictEqual(await matches(page), [MAP]);
  await page.locator('#search').fill('(');
  assert.ok(await page.evaluate(() => document.getElementById('search').classList.contains('wrong')));
  await page.keyboard.press('Escape');
  assert.strictEqual(await text(page, 'matched'), '');

  // By keyboard alone: to a frame by arrows, zoom with Enter, back with Escape.
  await page.reload();
  for (const key of ['ArrowUp', 'ArrowUp', 'ArrowRight', 'ArrowUp']) await page.keyboard.press(key);
  assert.match(await text(page, 'details'), /^start_thread +libc.so.6 +28 ms, 21.88 %/);
  await page.keyboard.press('Enter');
  assert.deepStrictEqual((await drawn(page)).map(box => box.name),
    ['all', 'worker (101)', 'start_thread', 'work(void*)', '__memcpy_avx', 'main', 'fib(int)']);
  await page.keyboard.press('ArrowDown');
  assert.match(await text(page, 'details'), /^worker \(101\)/);
  await page.keyboard.press('ArrowLeft');  // the thread to the left is not drawn
  assert.match(await text(page, 'details'), /^worker \(101\)/);
  await page.keyboard.press('Escape');
  assert.deepStrictEqual(await drawn(page), all);

  // It is as wide as the window, whatever is zoomed to.
  for (const width of [800, 1500]) {
    await page.setViewportSize({width, height: 800});
    await page.waitForFunction(wanted => document.documentElement.getAttribute('width') === String(wanted), width);
    const scaled = await drawn(page);
    assert.deepStrictEqual([scaled[0].width, scaled[1].width], [width, 637.5 * width / 1200]);
  }

  // The title and the search are at the top, also of a window that is lower than the picture.
  await page.setViewportSize({width: 1200, height: 120});
  await page.evaluate(() => window.scrollTo(0, 1e6));
  await page.waitForFunction(() => Math.abs(document.getElementById('title').getBoundingClientRect().top) < 30);
  const [title, root] = await page.evaluate(() => [document.getElementById('title'), document.querySelector('g.frame rect')]
    .map(each => each.getBoundingClientRect().top));
  assert.ok(title >= 0 && title < 30 && root > title, `${title}, ${root}`);

  // Dark where the system is.
  const luminance = () => page.evaluate(() => [getComputedStyle(document.documentElement).backgroundColor,
    getComputedStyle(document.getElementById('title')).fill].map(color => color.match(/\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0)));
  const [paper, ink] = await luminance();
  assert.ok(paper > 600 && ink < 150, `${paper}, ${ink}`);
  await page.emulateMedia({colorScheme: 'dark'});
  const [night, pale] = await luminance();
  assert.ok(night < 150 && pale > 600, `${night}, ${pale}`);

  await browser.close();
}

main().catch(error => { console.error(error); process.exit(1); });
