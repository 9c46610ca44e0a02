// Opens FILE... in speedscope as a person does, and prints what is then to be seen:
//
//   [{"title", "thread": "app (1/4)", "rows": [[total, self, name]]}]
//
// The rows are the first of the table beside the sandwich view, of the thread that is shown first.
'use strict';
const path = require('path');
const {Browser} = require('../support/browser.js');

async function main() {
  const browser = await Browser.launch();
  const index = path.join(path.dirname(require.resolve('speedscope/package.json')), 'dist/release/index.html');
  const page = await browser.open(index);
  const result = [];
  for (const file of process.argv.slice(2)) {
    await page.locator('input[type=file]').setInputFiles(file);
    await page.getByText('Sandwich').waitFor();
    await page.getByText('Left Heavy').click();
    await page.getByText('Sandwich').click();
    // The table is there before its rows are.
    await page.locator('td', {hasText: /%\)$/}).first().waitFor();
    const [title, thread, rows] = await page.evaluate(() => [
      document.title,
      document.body.innerText.split('\n').find(line => /\(\d+\/\d+\)$/.test(line)) ?? null,
      [...document.querySelectorAll('tr')].map(
        row => [...row.querySelectorAll('td')].map(cell => cell.innerText.trim()))
        .filter(cells => cells.length === 3 && cells[0].endsWith('%)')),
    ]);
    result.push({title, thread, rows});
    await page.reload();
  }
  await browser.close();
  console.log(JSON.stringify(result));
}

main().catch(error => { console.error(error); process.exit(1); });
