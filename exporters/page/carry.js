// Carries what is shown from one profile to another of the same program, whose handles differ. What
// the other profile does not have is dropped.

/** @param {import("./data/profile.js").Profile} profile */
function keysOf({threads, processes, functions, modules, strings}) {
  const thread = ({process, tid}) => `${processes[process].pid} ${tid}`;
  const func = (i) => JSON.stringify([strings[functions.name[i]], strings[functions.file[i]],
    modules[functions.module[i]]?.path]);
  return {threads: threads.map(thread), functions: Array.from({length: functions.count}, (_, i) => func(i))};
}

const placesOf = (keys) => new Map(keys.map((key, place) => [key, place]));

/**
 * @param {import("./state.js").Shown} shown of `from`
 * @param {import("./data/profile.js").Profile} from
 * @param {import("./data/profile.js").Profile} to
 * @returns {import("./state.js").Shown}
 */
export function carry(shown, from, to) {
  const [old, now] = [keysOf(from), keysOf(to)];
  const threadPlaces = placesOf(now.threads);
  const functionPlaces = placesOf(now.functions);
  const func = (handle) => handle < 0 ? handle : functionPlaces.get(old.functions[handle]);
  const path = (handles) => {
    const there = handles.map(func);
    return there.includes(undefined) ? [] : there;
  };
  const {selection} = shown;
  const threads = selection.threads &&
    new Set([...selection.threads].map((thread) => threadPlaces.get(old.threads[thread])).filter((place) => place !== undefined));
  const transforms = shown.transforms.flatMap((each) => {
    if (each.of === undefined) return [each];
    const of = each.kind === "library" ? to.modules.findIndex(({path}) => path === from.modules[each.of].path) : func(each.of) ?? -1;
    return of < 0 ? [] : [{...each, of}];
  });
  return {
    ...shown,
    transforms,
    selection: {...selection, threads: threads?.size ? threads : null},
    focus: shown.focus === null ? null : func(shown.focus) ?? null,
    frame: path(shown.frame),
    zoom: path(shown.zoom),
  };
}
