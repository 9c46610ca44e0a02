// A profile.html of a profile with markers, written by the exporter (WRITE_EXPORTS:
// tests/exporters/write_exports.cpp).
import {execFileSync} from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

// Two threads with 100 ms of samples each.
export const kMarked = `main;serve 25
# thread 101 worker
start;work 25
! span 101 10 30 handle id=7 text=order\\s<42>
! span 101 12.5 20 parse id=8 parent=7
! span 101 20 30 reply id=9 parent=7 closed=1
! span 100 40 60 request id=10 to=101
! section all 2 40 phase
! section 101 12 21 infer_1
! event 101 70 flush text=full
! counter 101 3 queue 1.5
! counter 101 9 queue -4
`;

/** Calls fn with the path of the page, which is then gone. */
export async function withPage(text, fn) {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "sampan-marked-"));
  try {
    fs.writeFileSync(path.join(directory, "profile.txt"), text);
    execFileSync(process.env.WRITE_EXPORTS, [path.join(directory, "profile.txt"), directory, "merged"]);
    return await fn(path.join(directory, "profile.html"));
  } finally {
    fs.rmSync(directory, {recursive: true});
  }
}
