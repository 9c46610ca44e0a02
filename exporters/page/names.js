// Names for the handles of a profile.

import {count, counted, fileName, margin, percent, shortName, weight} from "./format.js";
import {isNoise} from "./data/noise.js";

const kMostListed = 24;

/** @param {import("./data/profile.js").Profile} profile */
export function createNames(profile) {
  const {functions, strings, modules} = profile;
  const names = {
    /** @param {number} func -1: the root of everything */
    of: (func) => func < 0 ? "all" : strings[functions.name[func]],
    module: (func) => func < 0 ? "" : functions.python[func] ? "Python" :
      functions.module[func] < 0 ? "" : modules[functions.module[func]].name,
    modulePath: (func) => func < 0 || functions.module[func] < 0 ? "" : modules[functions.module[func]].path,
    /** "file.cpp:12", or "". */
    place(func, {whole = false} = {}) {
      const file = func < 0 ? "" : strings[functions.file[func]];
      if (file === "") return "";
      const line = functions.line[func];
      return `${whole ? file : fileName(file)}${line === 0 ? "" : `:${line}`}`;
    },
    thread: (index) => {
      const {name, tid} = profile.threads[index];
      return `${name} ${tid}`;
    },
    /** Lines for a tooltip of a node of a tree. @param {number} error of its total, ns */
    about(tree, node, error, all) {
      const func = tree.func[node];
      const ns = tree.total[node];
      return [
        names.of(func),
        `${weight(ns)} · ${percent(ns / all.ns)}${margin(error / all.ns)}` +
          ` · self ${weight(tree.self[node])} · ${counted(tree.samples[node], "sample")}`,
        [names.module(func), names.place(func)].filter((text) => text !== "").join(" · "),
        isNoise(error, ns) ? "so few samples that it could be chance" : "",
      ].filter((line) => line !== "");
    },
    /** The name of a folded chain. */
    chain: (tree, {node, last, folded}) => `⋯ ${folded} frames: ${shortName(names.of(tree.func[node]))} → ${shortName(names.of(tree.func[last]))}`,
    folded(tree, {node, last, folded}) {
      const chain = [];
      for (let at = last; at !== tree.parent[node]; at = tree.parent[at]) chain.push(names.of(tree.func[at]));
      const listed = chain.reverse().slice(0, kMostListed);
      return [`${folded} frames that call one function each`, ...listed, ...(folded > kMostListed ? ["…"] : []), "Click: unfold them"];
    },
    merged: (box) => [`${count(box.merged)} frames, each narrower than a pixel`, "zoom in to tell them apart"],
  };
  return names;
}
