// The milliseconds that a page takes, as a user sees them: until it is drawn, and for each action.
// Run by tests/support/npm_packages.py:  page_clock.js PAGE.html
'use strict';
const {Browser} = require('../tests/support/browser.js');

const OPEN = 120_000;

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

async function main(file) {
  const browser = await Browser.launch();
  const begin = Date.now();
  const page = await browser.open(file);
  await page.waitForSelector('#view canvas', {timeout: OPEN});
  await timed(page, '');
  console.log(`open ${Date.now() - begin}`);
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
  for (const view of ['table', 'sunburst', 'timeorder', 'icicle']) {
    const taken = await timed(page, `document.querySelector("#toolbar [data-view=${view}]").click()`);
    console.log(`${view} ${taken.toFixed(0)}`);
  }
  await browser.close();
}

main(process.argv[2]).catch(error => { console.error(error); process.exit(1); });
