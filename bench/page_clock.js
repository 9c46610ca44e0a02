// The milliseconds that a page takes, as a user sees them: until it is drawn, and for each action.
// "inert" is a page of as many bytes that does nothing with them: what the browser takes by itself.
// Run by tests/support/npm_packages.py:  page_clock.js PAGE.html INERT.html
'use strict';
const {Browser} = require('../tests/support/browser.js');

const OPEN = 120_000;
const kPairs = 5;

// From before an action to after the frame that shows it.
function timed(page, act) {
  return page.evaluate(async ([source]) => {
    const drawn = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    await drawn();
    const begin = performance.now();
    new Function(source)();
    await drawn();
    return performance.now() - begin;
  }, [act]);
}

const key = (name, element = 'document.querySelector("#view .pane:not([hidden]) canvas")') =>
  `${element}.dispatchEvent(new KeyboardEvent("keydown", {key: ${JSON.stringify(name)}, bubbles: true, cancelable: true}))`;

async function opened(browser, file) {
  const begin = Date.now();
  const page = await browser.open(file);
  await page.waitForSelector('#view canvas', {timeout: OPEN});
  await timed(page, '');
  return {page, taken: Date.now() - begin};
}

async function main(file, inert) {
  const browser = await Browser.launch();
  await browser.open('about:blank');  // the browser's own start is nobody's
  const [inertTimes, times] = [[], []];
  for (let i = 0; i < kPairs; ++i) {
    for (const [each, into] of [[inert, inertTimes], [file, times]]) {
      const {page, taken} = await opened(browser, each);
      into.push(taken);
      await page.context().close();
    }
  }
  console.log(`inert ${inertTimes.join(' ')}`);
  console.log(`open ${times.join(' ')}`);
  const {page} = await opened(browser, file);
  await page.focus('#view canvas');
  const medians = {
    zoom: [key('ArrowUp') + ';' + key('ArrowUp') + ';' + key('Enter'), key('0', 'document.body')],
    range: ['const t = document.querySelector("#timeline canvas").timeline; t.setRange([0.2 * t.durationNs, 0.6 * t.durationNs])',
      'document.querySelector("#timeline canvas").timeline.setRange(null)'],
  };
  for (const [name, actions] of Object.entries(medians)) {
    const times = [];
    for (let i = 0; i < 6; ++i) times.push(await timed(page, actions[i % 2]));
    times.sort((a, b) => a - b);
    console.log(`${name} ${times[3].toFixed(0)}`);
  }
  // A picture while somebody zooms or moves: the mean of those that follow each other.
  const picture = (selector, events) => page.evaluate(async ([wanted, wheels]) => {
    const canvas = document.querySelector(wanted);
    const {left, top, width} = canvas.getBoundingClientRect();
    const begin = performance.now();
    for (const [deltaX, deltaY] of wheels) {
      canvas.dispatchEvent(new WheelEvent('wheel', {deltaX, deltaY, clientX: left + width / 2, clientY: top + 30, ctrlKey: deltaX === 0,
        bubbles: true, cancelable: true}));
      await new Promise(requestAnimationFrame);
    }
    await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    return (performance.now() - begin) / wheels.length;
  }, [selector, events]);
  const repeated = (event, times) => Array.from({length: times}, () => event);
  const wheels = [...repeated([0, -80], 25), ...repeated([60, 0], 25), ...repeated([-60, 0], 25), ...repeated([0, 80], 25)];
  for (const [name, selector] of [['tracks-picture', '#timeline canvas'], ['stacks-picture', '#view .pane:not([hidden]) canvas']]) {
    await picture(selector, wheels.slice(0, 3));
    console.log(`${name} ${(await picture(selector, wheels)).toFixed(1)}`);
    await timed(page, `document.querySelector('[data-action=reset]').click()`);
  }
  for (const view of ['table', 'sunburst', 'timeorder', 'tree', 'icicle']) {
    const taken = await timed(page, `document.querySelector("#toolbar [data-view=${view}]").click()`);
    console.log(`${view} ${taken.toFixed(0)}`);
  }
  await browser.close();
}

main(process.argv[2], process.argv[3]).catch(error => { console.error(error); process.exit(1); });
