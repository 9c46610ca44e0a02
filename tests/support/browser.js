// Chromium without a window, for tests of pages that need nothing but themselves: a message on the
// console, an exception and a request that leaves the page's files are failures of the test.
//
//   const browser = await Browser.launch();
//   const page = await browser.open('profile.html#view=table');  // a page of playwright
//   ...
//   await browser.close();                                       // throws what was found wrong
//
// Run by npm_packages.py, so that playwright-core is found. CHROMIUM names another browser. Debian's browser without
// windows takes two thirds of the CPU that its other one takes.
'use strict';
const fs = require('fs');
const path = require('path');
const url = require('url');
const {chromium} = require('playwright-core');

const CHROMIUM = process.env.CHROMIUM ||
  ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find(file => fs.existsSync(file));
const SKIPPED = 77;
const DRIVER = /GL Driver Message/;  // of what stands in for a graphics card
const LOCAL = /^(file|data|blob|about):/;

class Browser {
  // Ends the test as skipped where there is no Chromium.
  static async launch() {
    if (CHROMIUM === undefined) {
      console.log('skipped: neither chromium-headless-shell nor chromium is installed');
      process.exit(SKIPPED);
    }
    const options = {executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu']};
    return new Browser(await chromium.launch(options));
  }

  constructor(browser) {
    this.browser = browser;
    this.problems = [];
  }

  // A new page, of a file or a URL, in a context of its own (options as playwright's newContext).
  // What a page of a server may ask for is what is of its own origin.
  async open(fileOrUrl, options = {}) {
    const [file, fragment] = fileOrUrl.split(/#(.*)/s);
    const address = /^\w+:/.test(file) ? new URL(file) : url.pathToFileURL(path.resolve(file));
    if (fragment !== undefined) address.hash = fragment;
    const context = await this.browser.newContext({viewport: {width: 1280, height: 800}, ...options});
    const page = await context.newPage();
    page.on('console', message => {
      if (['error', 'warning'].includes(message.type()) && !DRIVER.test(message.text())) {
        this.problems.push(message.text());
      }
    });
    page.on('pageerror', error => this.problems.push(error.stack));
    page.on('request', request => {
      const asked = request.url();
      if (LOCAL.test(asked) || (address.protocol !== 'file:' && asked.startsWith(address.origin))) return;
      this.problems.push(`a request to ${asked}`);
    });
    await page.goto(address.href);
    return page;
  }

  async close() {
    await this.browser.close();
    if (this.problems.length !== 0) throw new Error(`the page: ${this.problems.join('\n')}`);
  }
}

module.exports = {Browser};
