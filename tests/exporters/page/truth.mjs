// What a page must show, counted sample by sample, without the page's own modules: the part of
// `sampan report --json` that is compared.

/** @param {import("../../../exporters/page/data/profile.js").Profile} profile */
export function reportOf(profile) {
  const {samples, stacks, functions, threads, strings, meta} = profile;
  const rows = new Map();
  const row = (func) => {
    if (!rows.has(func)) {
      rows.set(func, {name: func < 0 ? "[unknown]" : strings[functions.name[func]],
        self_s: 0, total_s: 0, self_samples: 0, total_samples: 0});
    }
    return rows.get(func);
  };
  const perThread = threads.map(({tid, name}) => ({tid, name, samples: 0, total_s: 0}));
  const waits = new Map();
  threads.forEach((_, thread) => {
    for (let i = samples.ofThread[thread]; i < samples.ofThread[thread + 1]; ++i) {
      const weight = samples.weightNs[i] / 1e9;
      const path = [];
      for (let at = samples.stack[i]; at >= 0; at = stacks.prefix[at]) path.push(stacks.func[at]);
      const leaf = row(path[0] ?? -1);
      leaf.self_s += weight;
      ++leaf.self_samples;
      for (const func of new Set(path.length ? path : [-1])) {
        row(func).total_s += weight;
        ++row(func).total_samples;
      }
      if (samples.waiting[i]) waits.set(leaf.name, (waits.get(leaf.name) ?? 0) + 1);
      ++perThread[thread].samples;
      perThread[thread].total_s += weight;
    }
  });
  return {program: meta.program, samples: meta.samples, rate_hz: meta.rateHz, duration_s: meta.durationNs / 1e9,
    coverage: meta.sampledCpuNs / meta.cpuNs, complete_stacks: meta.completeStacks, lost: meta.lost,
    threads: perThread, waits: [...waits].map(([call, number]) => ({call, samples: number})),
    functions: [...rows.values()].sort((a, b) => b.self_s - a.self_s)};
}
