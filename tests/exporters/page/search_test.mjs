import assert from "node:assert/strict";
import {test} from "node:test";
import {byThread, inlining} from "../../../exporters/page/data/by_thread.js";
import {compile, matchingFunctions, weightWith} from "../../../exporters/page/data/search.js";
import {everything, weightsByStack} from "../../../exporters/page/data/selection.js";
import {byHand} from "./by_hand.mjs";

const profile = byHand([
  ["main", [[1, 10, "main;parse;parse;read"], [2, 20, "main;parse"], [3, 40, "main"], [4, 80, ""]]],
  ["worker", [[5, 100, "run;read"], [6, 200, "run;Parser"]]],
]);
const handle = (name) => profile.strings.indexOf(name);

function found(pattern) {
  const {expression} = compile(pattern);
  const marked = matchingFunctions(profile, expression);
  return {names: profile.strings.filter((_, i) => marked[i]).sort(),
    ...weightWith(profile, marked, weightsByStack(profile, everything()))};
}

test("what a pattern finds; a sample counts once, however often it is in its stack", () => {
  assert.deepEqual(found("^parse$"), {names: ["parse"], ns: 30, samples: 2});
  assert.deepEqual(found("parse"), {names: ["Parser", "parse"], ns: 230, samples: 3});
  assert.deepEqual(found("Parse"), {names: ["Parser"], ns: 200, samples: 1});
  assert.deepEqual(found("read|run"), {names: ["read", "run"], ns: 310, samples: 3});
  assert.deepEqual(found("nowhere"), {names: [], ns: 0, samples: 0});
});

test("no pattern, and a wrong one", () => {
  assert.deepEqual(compile(""), {expression: null, error: ""});
  const {expression, error} = compile("a(");
  assert.equal(expression, null);
  assert.match(error, /group/i);
});

test("a function's share of each thread", () => {
  assert.deepEqual(byThread(profile, everything(), handle("read")), [
    {thread: 1, self: 100, total: 100, all: 300, samples: 1},
    {thread: 0, self: 10, total: 10, all: 150, samples: 1}]);
  assert.deepEqual(byThread(profile, everything(), handle("parse")),
    [{thread: 0, self: 20, total: 30, all: 150, samples: 2}]);
});

test("inlined always, sometimes, never", () => {
  const one = byHand([["main", [[1, 1, "a;b"], [2, 1, "a;c;b"]]]]);
  assert.equal(inlining(one, one.strings.indexOf("b")), "never");
  const rows = [...one.stacks.func.keys()].filter((row) => one.stacks.func[row] === one.strings.indexOf("b"));
  one.stacks.inlined[rows[0]] = 1;
  assert.equal(inlining(one, one.strings.indexOf("b")), "sometimes");
  one.stacks.inlined[rows[1]] = 1;
  assert.equal(inlining(one, one.strings.indexOf("b")), "always");
});
