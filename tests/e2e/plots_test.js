// Looks at the pictures of metrics in Chromium: plots_test.js FILE.svg... Each is drawn inside its
// frame, and no two of its texts overlap. Run by npm_packages.py.
'use strict';
const assert = require('assert');
const {Browser} = require('../support/browser.js');

async function main() {
  const browser = await Browser.launch();
  for (const file of process.argv.slice(2)) {
    const page = await browser.open(file);
    const seen = await page.evaluate(() => {
      const box = element => {
        const {x, y, width, height} = element.getBoundingClientRect();
        return {x, y, width, height, text: element.textContent};
      };
      return {frame: box(document.documentElement),
              drawn: [...document.querySelectorAll('.counter, .event')].map(box),
              texts: [...document.querySelectorAll('text')].map(box)};
    });
    assert.ok(seen.drawn.length > 0, `${file}: nothing is drawn`);
    for (const {x, y, width, height, text} of [...seen.drawn, ...seen.texts]) {
      assert.ok(x >= 0 && y >= 0 && x + width <= seen.frame.width && y + height <= seen.frame.height,
        `${file}: '${text}' leaves the picture: ${[x, y, width, height]}`);
    }
    for (const {width, height} of seen.drawn) {
      assert.ok(width > 100 && height > 5, `${file}: a drawing of ${width} by ${height}`);
    }
    seen.texts.forEach((a, i) => seen.texts.slice(i + 1).forEach(b => {
      const apart = a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y + 1 || b.y + b.height <= a.y + 1;
      assert.ok(apart, `${file}: '${a.text}' lies on '${b.text}'`);
    }));
    if (process.env.PICTURES) {
      await page.screenshot({path: `${process.env.PICTURES}/${file.split('/').pop()}.png`});
    }
  }
  await browser.close();
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
