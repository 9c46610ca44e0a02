import assert from "node:assert/strict";
import {test} from "node:test";
import {fragmentOf, shownBy} from "../../../exporters/page/fragment.js";
import {initially} from "../../../exporters/page/state.js";
import {compared, synthetic} from "./synthetic.mjs";

const profile = synthetic({threads: 12});

test("what is shown comes back from its fragment", () => {
  const shown = {selection: {threads: new Set([0, 3, 4, 5, 11]), fromNs: 1.5e9, toNs: 2.25e9, state: "cpu"},
    view: "sunburst", inverted: true, focus: 7, frame: [2, 3, 3, 5], zoom: [2, 3], span: [0.25, 0.7512345678901],
    search: "operator<<|a&b#%", colorBy: "thread", theme: "dark", sort: "-total", seen: [1e9, 3e9], trackBy: "module", fold: false,
    transforms: [{kind: "focus", of: 7}, {kind: "library", of: 2}, {kind: "recursion"}], marker: "wait [read pipe]"};
  assert.deepEqual(shownBy(fragmentOf(shown, profile), profile), shown);
  assert.ok(fragmentOf(shown, profile).includes("threads=0.3-5.11"));
});

test("the beginning needs no fragment", () => {
  for (const each of [profile, compared()]) {
    assert.equal(fragmentOf(initially(each), each), "");
    assert.deepEqual(shownBy("", each), initially(each));
  }
  assert.equal(initially(compared()).colorBy, "diff");
});

test("samples that are not the first ones of the page are named", () => {
  const of = (shown, first) => ({...profile, meta: {...profile.meta, sampleTypes: {shown, first, all: ["cpu", "live"], waits: false}}});
  assert.equal(fragmentOf(initially(profile), of("live", "live")), "");
  assert.equal(fragmentOf(initially(profile), of("live", "cpu")), "samples=live");
  assert.equal(fragmentOf(initially(profile), of("cpu", "live")), "samples=cpu");
});

test("what does not fit the profile is left out", () => {
  const wrong = ["view=constructor", "inverted=2", "threads=99", "threads=x-y", "from=-1", "to=nan", "state=toString",
    "focus=100000", "focus=1.5", "zoom=1.x", "zoom=1..2", "frame=4294967295", "span=0.5_0.2", "span=-1_2", "span=a",
    "sort=name'", "colorBy=__proto__", "colorBy=diff", "theme=", "do=f", "do=f100000", "do=l99", "do=s1", "do=__proto__", "do=q7", "seen=5_4", "seen=-1_", "seen=x", "fold=2", "trackBy=x",
    "marker=span+none", "marker=[read pipe]", "marker=wait+__proto__", "=", "&&", "%", "%E0%A4%A", "nothing=1"];
  for (const fragment of wrong) assert.deepEqual(shownBy(fragment, profile), initially(profile), fragment);
  assert.deepEqual(shownBy("threads=0-1000000000000", profile).selection.threads.size, 12);
});
