// Waits for locks as tables: which locks were waited for and by whom, who held them meanwhile, who ended the waits.

import {lockTables} from "../data/locks.js";
import {h} from "../dom.js";
import {count, counted, duration, percent} from "../format.js";
import {table} from "./markers_view.js";

const kMostListed = 300;
const kMostThreads = 2;  // that are named; more are counted

const plural = (kind) => /(ch|x)$/.test(kind) ? `${kind}es` : `${kind}s`;

/** "mutex queue_lock", "3 mutexes of Pool::Pool" */
function lockName({kind, name, locks}) {
  const origin = name.indexOf(" of ");
  return locks <= 1 ? `${kind} ${name}` : `${count(locks)} ${plural(kind)}${origin < 0 ? ` ${name}` : name.slice(origin)}`;
}

/** @param {HTMLElement} element */
export function create(element, profile, state, {names, status}) {
  const pane = h("div", {class: "locks", tabindex: 0, role: "group", "aria-label": "locks"});
  element.append(pane);
  const {functions, strings, locks} = profile;
  const byName = new Map(Array.from({length: functions.count}, (_, func) => [strings[functions.name[func]], func]));
  let drawn = null;

  // A function that is on no stack of the page is only named.
  function link(text, name = text) {
    const func = byName.get(name);
    if (func === undefined) return h("td", {title: text}, text ?? "not known");
    return h("td", {title: text}, h("button", {class: "link", onclick: () => state.set({focus: func, frame: []})}, text));
  }
  const numbers = (...texts) => texts.map((text) => h("td", {class: "number"}, text));
  const sum = ({waitedNs, waits, longestNs}, total) =>
    numbers(duration(waitedNs), percent(waitedNs / total.waitedNs), count(Math.round(waits)), duration(longestNs));

  function waiters(threads) {
    const list = [...threads].map(names.thread);
    return h("td", {title: list.join("\n")}, list.length <= kMostThreads ? list.join(", ") : counted(list.length, "thread"));
  }
  function section(title, label, heads, rows, rowOf) {
    if (rows.length === 0) return [];
    const more = rows.length - kMostListed;
    return [h("h2", {class: "function-title"}, title),
      table(label, [...heads, "Waited", "%", "Waits", "Longest"], rows.slice(0, kMostListed).map(rowOf), {numbers: heads.length}),
      ...(more > 0 ? [h("p", {class: "hint"}, `and ${count(more)} more with less`)] : [])];
  }
  function pairs(title, label, other, rows, total) {
    const known = rows.filter((row) => row.other !== undefined);
    const share = known.reduce((all, {waitedNs}) => all + waitedNs, 0) / total.waitedNs;
    const parts = section(title, label, ["Waited in", other, "Lock"], known, (row) => h("tr", {"data-pair": label},
      link(row.waiter), link(row.other), h("td", {title: locks[row.lock].name}, lockName(locks[row.lock])), ...sum(row, total)));
    return known.length === 0 ? [] : [...parts, h("p", {class: "hint"}, `known for ${percent(share)} of the time that was waited`)];
  }

  return {
    redraw() {
      const {selection} = state.get();
      if (selection !== drawn) {
        drawn = selection;
        const {total, locks: rows, blockedBy, wokenBy} = lockTables(profile, selection);
        pane.replaceChildren(...section("Locks, most waited first", "locks", ["Lock", "Waited by"], rows, (row) => h("tr", {"data-lock": row.lock},
          link(lockName(locks[row.lock]), `[${locks[row.lock].kind} ${locks[row.lock].name}]`), waiters(row.threads), ...sum(row, total))),
        ...pairs("Who waited for whom", "blocked by", "Held in", blockedBy, total),
        ...pairs("Who ended the waits", "woken by", "Woken in", wokenBy, total));
        if (rows.length === 0) pane.replaceChildren(h("p", {class: "hint"}, "Nothing waited for a lock in this selection."));
        status.show(counted(rows.length, "lock"));
      }
    },
  };
}
