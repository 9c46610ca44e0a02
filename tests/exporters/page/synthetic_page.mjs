// A page of a profile that is made up, and what it must show:
//
//   node synthetic_page.mjs PAGE.html REPORT.json [OPTIONS]     options of synthetic(), as JSON
//
// With "compared", the threads are the two sides of a comparison, and a function differs in them.
import {execFileSync} from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import {fileURLToPath} from "node:url";
import {compared, synthetic} from "./synthetic.mjs";
import {reportOf} from "./truth.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const viewer = path.join(here, "../../../exporters/page");
const [page, report, options = "{}"] = process.argv.slice(2);

const entry = `
  import {startPage} from "${viewer}/page.js";
  import {compared, synthetic} from "${here}/synthetic.mjs";
  const options = ${options};
  startPage(options.compared ? compared(options) : synthetic(options));`;
const script = execFileSync("esbuild", ["--bundle", "--format=esm", "--log-level=warning"],
  {input: entry, cwd: viewer, encoding: "utf8", maxBuffer: 1 << 26});
const style = execFileSync("esbuild", ["style.css", "--bundle", "--log-level=warning"],
  {cwd: viewer, encoding: "utf8"});
const index = fs.readFileSync(path.join(viewer, "index.html"), "utf8");
fs.writeFileSync(page, index.replace("/*STYLE*/", () => style)
  .replace("/*SCRIPT*/", () => script));
const parsed = JSON.parse(options);
fs.writeFileSync(report, JSON.stringify(reportOf(parsed.compared ? compared(parsed) : synthetic(parsed))));
