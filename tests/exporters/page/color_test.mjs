import assert from "node:assert/strict";
import {test} from "node:test";
import {changeColor, hueOf, moduleHues, moduleRanks, oklch, pythonColor, theme} from "../../../exporters/page/data/color.js";
import {functionColors} from "../../../exporters/page/data/color.js";
import {byHand} from "./by_hand.mjs";

// Of WCAG 2.2, "relative luminance" and "contrast ratio".
function luminance(color) {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const value = parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

test("known colours", () => {
  assert.equal(oklch(1, 0, 0), "#ffffff");
  assert.equal(oklch(0, 0, 0), "#000000");
  assert.equal(oklch(0.62796, 0.25768, 29.234), "#ff0000");  // published with OKLCH: sRGB's red
});

test("names can be read on every colour, in both themes", () => {
  for (const dark of [false, true]) {
    const {text, match, faint, wait, box: [lightness, chroma]} = theme(dark);
    const fills = [oklch(...match), oklch(...faint, 80), oklch(wait, 0.005, 80),
      changeColor(0, 1, dark), changeColor(1, 0, dark), changeColor(1, 1, dark)];
    for (let rank = 0; rank < 50; ++rank) {
      for (const shade of [-2, 0, 2]) fills.push(oklch(lightness + 0.013 * shade, chroma, hueOf(rank)));
    }
    for (let func = 0; func < 5; ++func) fills.push(pythonColor(dark, func));
    for (const fill of fills) assert.ok(contrast(fill, text) >= 4.5, `${text} on ${fill}: ${contrast(fill, text)}`);
  }
});

test("one hue per module; grey for waits", () => {
  const profile = byHand([["main", [[1, 10, "main;small"], [2, 90, "main;big"], [3, 5, "main;[read]"]]]]);
  profile.modules = [{name: "a"}, {name: "b"}];
  const handle = (name) => profile.strings.indexOf(name);
  profile.functions.module[handle("small")] = 0;
  profile.functions.module[handle("big")] = 1;
  assert.deepEqual([...moduleRanks(profile)], [1, 0]);
  const colorOf = functionColors(profile, false);
  assert.notEqual(colorOf(handle("small")), colorOf(handle("big")));
  const wait = colorOf(handle("[read]"));
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(wait.slice(at, at + 2), 16));
  assert.ok(Math.max(r, g, b) - Math.min(r, g, b) < 8, wait);
});

test("a library has the same hue in every recording, whatever its version and whoever uses it", () => {
  const hues = (program, ...names) => moduleHues({...byHand([]), modules: names.map((name) => ({name})), meta: {program}});
  const [own, libc, z] = hues("app", "app", "libc.so.6", "libz.so.1");
  assert.deepEqual(hues("/usr/bin/other", "libz.so.1.2.13", "other", "libc-2.31.so", "libc.so.6"), [z, own, libc, libc]);
  assert.equal(new Set([own, ...hues("x", "libc.so.6", "libstdc++.so.6", "libm.so.6", "ld-linux-x86-64.so.2")]).size, 5);
});

test("of the heaviest libraries no two have one colour, and only one that would share it has another", () => {
  // The library that weighs most first.
  const hues = (...names) => {
    const profile = byHand([["main", names.map((name, i) => [i + 1, 100 - i, `of ${name}`])]]);
    names.forEach((_, i) => { profile.functions.module[i] = i; });
    const found = moduleHues({...profile, modules: names.map((name) => ({name})), meta: {program: "app"}});
    return Object.fromEntries(names.map((name, i) => [name, found[i]]));
  };
  const alone = (name) => hues(name)[name];
  const candidates = Array.from({length: 60}, (_, i) => `libmade${String.fromCharCode(97 + i % 26)}${i}x.so.1`).sort();
  const likeC = candidates.filter((name) => alone(name) === alone("libc.so.6")).slice(0, 3);
  assert.equal(likeC.length, 3);
  const others = candidates.filter((name) => !likeC.includes(name)).slice(0, 4);
  const eight = [...likeC, ...others, "libc.so.6"];
  const found = hues(...eight);
  assert.equal(new Set(Object.values(found)).size, 8, JSON.stringify(found));
  assert.equal(found["libc.so.6"], alone("libc.so.6"), "one that nearly every program has keeps its own");
  for (const name of others) {
    const isFirst = others.filter((other) => alone(other) === alone(name))[0] === name;
    if (isFirst) assert.equal(found[name], alone(name), name);
  }
  assert.deepEqual(hues(...eight.toReversed()), found, "whatever each of them weighs");
  const more = Array.from({length: 40}, (_, i) => `libmore${i}y.so`);
  const all = hues(...eight, ...more);
  for (const name of eight) assert.equal(all[name], found[name], "lighter ones change nothing");
  for (const name of more) assert.equal(all[name], alone(name), name);
});

test("Python has a colour of its own, whatever modules there are", () => {
  const profile = byHand([["main", [[1, 10, "main;work.py"], [2, 90, "main"]]]]);
  const work = profile.strings.indexOf("work.py");
  for (const dark of [false, true]) {
    assert.equal(functionColors(profile, dark)(work), pythonColor(dark, work));
    const {box: [lightness, chroma]} = theme(dark);
    const channels = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
    const own = channels(pythonColor(dark));
    for (let rank = 0; rank < 50; ++rank) {
      const other = channels(oklch(lightness, chroma, hueOf(rank)));
      const apart = Math.max(...own.map((value, i) => Math.abs(value - other[i])));
      assert.ok(apart >= 15, `rank ${rank}: ${other} beside ${own}`);
    }
  }
});

test("what grew is red, what shrank is blue", () => {
  const red = (color) => parseInt(color.slice(1, 3), 16) - parseInt(color.slice(5, 7), 16);
  for (const dark of [false, true]) {
    assert.ok(red(changeColor(0.1, 0.3, dark)) > 30);
    assert.ok(red(changeColor(0.3, 0.1, dark)) < -30);
    assert.ok(Math.abs(red(changeColor(0.2, 0.2, dark))) < 5);
  }
});
