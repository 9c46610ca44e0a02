// A profile page in Chromium, handled as a person does: pointer, keys, what can be read.
'use strict';
const assert = require('node:assert/strict');
const {Browser} = require('../../support/browser.js');

const VIEW = '#view .pane:not([hidden])';
const CHART = `${VIEW} canvas`;
const ADDRESS_FOLLOWS_MS = 170;

// "1.23 s" in ns.
function parseDuration(text) {
  const match = /([\d.]+) (ns|µs|ms|s)(?![\w])/.exec(text);
  assert.ok(match, `no duration in ${JSON.stringify(text)}`);
  return Number(match[1]) * {ns: 1, 'µs': 1e3, ms: 1e6, s: 1e9}[match[2]];
}

function near(value, truth, tolerance, what) {
  assert.ok(Math.abs(value - truth) <= tolerance, `${what}: ${value}, where ${truth} is right`);
}

class ProfilePage {
  static async open(browser, file, fragment = '', options = {}) {
    const opened = new ProfilePage(await browser.open(`${file}#${fragment}`, options));
    await opened.settled();
    return opened;
  }

  constructor(page) { this.page = page; }

  // Until what was done is drawn, and nothing moves any more: a longer status line makes the view
  // above it smaller, which is drawn anew some frames later.
  async settled() {
    await this.page.evaluate(async view => {
      const frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
      const places = () => [...document.querySelectorAll(`${view} .chart, ${view} canvas`)].map(({
        clientWidth, clientHeight, scrollTop, scrollHeight, height,
      }) => [clientWidth, clientHeight, scrollTop, scrollHeight, height]).join();
      let before;
      do {
        before = places();
        for (let frames = 0; frames < 3; ++frames) await frame();
      } while (places() !== before);
    }, VIEW);
  }

  // A timer of the page: its own, which writes the address, was set before and is shorter.
  async field(key) {
    return this.page.evaluate(([name, ms]) => new Promise(done => setTimeout(
      () => done(new URLSearchParams(location.hash.slice(1)).get(name)), ms)), [key, ADDRESS_FOLLOWS_MS]);
  }

  async press(...keys) {
    for (const key of keys) await this.page.keyboard.press(key);
    await this.settled();
  }

  // Opens the toolbar's menu, if that is where it is.
  async reach(selector) {
    if (await this.page.$eval(selector, element => element.closest('.menu:not([open]) .menu-items') !== null)) await this.page.click('[data-action=menu]');
  }

  async click(selector) {
    await this.page.waitForSelector(selector, {state: 'attached'});
    await this.reach(selector);
    await this.page.click(selector);
    await this.settled();
  }

  async select(selector, value) {
    await this.reach(selector);
    await this.page.selectOption(selector, value);
    await this.settled();
  }

  // Rows of controls; the menu's are in none.
  async toolbarRows() {
    const middles = await this.page.$$eval('#toolbar :is(button, select, input, summary)', controls => controls
      .filter(each => each.checkVisibility() && !each.closest('.menu-items')).map(each => each.getBoundingClientRect())
      .map(({top, height}) => Math.round((top + height / 2) / 8)));
    return new Set(middles).size;
  }

  async show(view) { await this.click(`#toolbar [data-view=${view}]`); }
  text(selector) { return this.page.textContent(selector); }
  texts(selector) { return this.page.$$eval(selector, found => found.map(each => each.textContent)); }
  status() { return this.text('#status'); }

  async search(pattern) {
    await this.page.fill('#search', pattern);
    await this.page.waitForTimeout(200);
    await this.settled();
    return this.text('.search-result');
  }

  // The boxes of a chart, with their names, and where to point at them.
  boxes(selector = CHART) {
    return this.page.$eval(selector, ({chart, clientHeight}) => chart.boxes().map(box => {
      const {x, y} = chart.placeOf(box);
      return {x, y, left: box.x, width: box.width, row: box.row, merged: box.merged,
        seen: y > 4 && y < clientHeight - 4, name: box.merged ? '' : chart.nameOf(box)};
    }));
  }

  // Scrolls a chart to one of its boxes.
  reveal(index, selector = CHART) {
    return this.page.$eval(selector, ({chart}, i) => chart.reveal(chart.boxes()[i]), index);
  }

  chartWidth(selector = CHART) { return this.page.$eval(selector, canvas => canvas.clientWidth); }

  async pointAt({x, y}, selector = CHART) {
    const place = await (await this.page.$(selector)).boundingBox();
    this.pointer = {x: place.x + x, y: place.y + y};
    await this.page.mouse.move(this.pointer.x, this.pointer.y);
    return this.pointer;
  }

  async clickOn(box, selector = CHART) {
    const {x, y} = await this.pointAt(box, selector);
    await this.page.mouse.click(x, y);
    await this.settled();
  }

  async wheel(pixels, modifier) {
    if (modifier) await this.page.keyboard.down(modifier);
    await this.page.mouse.wheel(0, pixels);
    if (modifier) await this.page.keyboard.up(modifier);
    await this.settled();
  }

  // On a busy machine the pointer arrives after the frames that are waited for, and what is drawn
  // once more hides the tooltip until the pointer moves.
  async tooltip() {
    for (let tries = 0; ; ++tries) {
      await this.settled();
      const lines = await this.page.$$eval('.tooltip:not([hidden]) > div',
        found => found.map(line => line.textContent));
      if (lines.length !== 0 || tries === 20) return lines;
      await this.page.mouse.move(this.pointer.x + tries % 2, this.pointer.y);
    }
  }

  // What a canvas looks like, as a number.
  picture(selector = CHART) {
    return this.page.$eval(selector, canvas => {
      const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {willReadFrequently: true});
      copy.drawImage(canvas, 0, 0);
      const {data} = copy.getImageData(0, 0, canvas.width, canvas.height);
      let hash = 0;
      for (let i = 0; i < data.length; i += 4) {
        hash = Math.imul(hash, 31) + data[i] + 7 * data[i + 1] + 13 * data[i + 2] | 0;
      }
      return hash;
    });
  }

  // Rows of the table that is shown, as texts by heading.
  rows() {
    return this.page.$eval(`${VIEW} table.functions`, table => {
      const headings = [...table.querySelectorAll('thead th')].map(each => each.textContent);
      return [...table.querySelectorAll('tbody tr[data-func]')].map(row =>
        Object.fromEntries([...row.cells].map((cell, i) => [headings[i], cell.textContent])));
    });
  }

  clipboard() { return this.page.evaluate(() => navigator.clipboard.readText()); }
}

// The widest box of a row.
function widest(boxes, row, wanted = () => true) {
  return boxes.filter(box => box.row === row && !box.merged && wanted(box)).sort((a, b) => b.width - a.width)[0];
}

module.exports = {Browser, CHART, ProfilePage, near, parseDuration, VIEW, widest};
