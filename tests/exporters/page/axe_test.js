// What axe finds in every view of a page, in both themes: no violation of WCAG 2.1 A and AA.
//
//   PAGE=profile.html node --test axe_test.js     run by npm_packages.py
'use strict';
const assert = require('node:assert/strict');
const fs = require('node:fs');
const {after, before, test} = require('node:test');
const {Browser, ProfilePage, VIEW, widest} = require('./page_driver.js');

const AXE = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'];

let browser;
before(async () => { browser = await Browser.launch(); });
after(() => browser.close());

async function violations(page) {
  const found = await page.page.evaluate(rules => window.axe.run(document, {runOnly: {type: 'tag', values: rules}}), RULES);
  assert.ok(found.passes.some(({id}) => id === 'color-contrast'), 'axe looks at contrast');
  return found.violations.map(({id, nodes}) => `${id}: ${nodes.slice(0, 3).map(({html, failureSummary}) =>
    `${html.slice(0, 140)} (${failureSummary.split('\n')[1]?.trim()})`).join('; ')}`);
}

for (const theme of ['light', 'dark']) {
  test(`every view, ${theme}`, async () => {
    const page = await ProfilePage.open(browser, process.env.PAGE, `theme=${theme}`, {viewport: {width: 1280, height: 800}});
    await page.page.evaluate(AXE);
    const views = await page.page.$$eval('#toolbar [data-view]', tabs => tabs.map(tab => tab.dataset.view));
    for (const view of views) {
      await page.show(view);
      if (view === 'table') await page.click(`${VIEW} tr[data-func]`);  // with details, from here on
      assert.deepEqual(await violations(page), [], view);
    }
    await page.show('icicle');
    await page.pointAt(widest(await page.boxes(), 1));
    await page.page.mouse.click(page.pointer.x, page.pointer.y, {button: 'right'});
    await page.settled();
    assert.ok(await page.page.isVisible('[role=menuitem]'));
    assert.deepEqual(await violations(page), [], 'the menu on a frame');
    await page.press('Escape');
    await page.click('[data-action=help]');
    assert.deepEqual(await violations(page), [], 'help');
    await page.press('Escape');
    await page.click('[data-action=menu]');
    assert.deepEqual(await violations(page), [], 'the menu');
  });
}
