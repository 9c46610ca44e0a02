#include "symbolizer/symbolizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "profile/recorded_names.h"
#include "symbolizer/jit_names.h"
#include "symbolizer/module_work.h"
#include "symbolizer/parallel.h"
#include "symbolizer/profile_names.h"

namespace sampan::symbolizer {

namespace {

constexpr size_t kFewLocations = 256;  // not worth a second thread

using Jobs = std::vector<std::function<void()>>;
using Works = std::map<uint32_t, ModuleWork>;

// A fifth of the profiled time, at the 400 bytes per microsecond that inflating makes.
uint64_t inflate_limit(const profile::Profile& profile) {
  if (profile.samples.empty()) return UINT64_MAX;
  uint64_t profiled_ns = 0;
  for (const profile::Sample& sample : profile.samples) profiled_ns += sample.weight_ns;
  return profiled_ns / 5 / 1000 * 400;
}

bool is_done(const profile::Profile& profile, const profile::Location& location,
             const Options& options) {
  return options.only_unnamed ? location.line_count != 0 : has_all_names(profile, location);
}

unsigned thread_count(const profile::Profile& profile, const Options& options) {
  if (profile.locations.size() < kFewLocations) return 1;
  return options.jobs != 0 ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
}

// The file to open for a module.
std::string file_of(const profile::Module& module, const Options& options) {
  for (const Substitute& substitute : options.substitutes) {
    if (substitute.path == module.path && substitute.build_id == module.build_id) {
      return substitute.file;
    }
  }
  return module.path;
}

Works addresses_by_module(const profile::Profile& profile, const Options& options) {
  Works works;
  for (const profile::Location& location : profile.locations) {
    if (location.module >= profile.modules.size() || is_done(profile, location, options)) {
      continue;
    }
    const auto found = works.find(location.module);
    if (found != works.end()) {
      found->second.add(location.address);
      continue;
    }
    const profile::Module& module = profile.modules[location.module];
    works.try_emplace(location.module, module, file_of(module, options), options)
        .first->second.add(location.address);
  }
  return works;
}

void find_names(const profile::Profile& profile, const Options& options, Works& works) {
  const unsigned threads = thread_count(profile, options);
  const uint64_t limit = inflate_limit(profile);
  std::atomic<size_t> done = 0;
  std::function<void()> tick;
  if (options.progress) {
    tick = [&] { options.progress(done, profile.locations.size()); };
  }

  Jobs open, resolve, complete;
  for (auto& entry : works) {
    ModuleWork& work = entry.second;
    open.push_back([&] { work.open(limit, threads); });
    complete.push_back([&] { work.complete(); });
  }
  run_parallel(open, threads, tick);
  for (auto& entry : works) {
    ModuleWork& work = entry.second;
    for (size_t chunk = 0; chunk < work.chunks(); ++chunk) {
      resolve.push_back([&, chunk] { work.resolve(chunk, done); });
    }
  }
  run_parallel(resolve, threads, tick);
  run_parallel(complete, threads, tick);
}

}  // namespace

Report symbolize(profile::Profile& profile, const Options& wanted) {
  Options options = wanted;
  if (options.unchanged_since_unix_ns == 0 && is_made_here(profile)) {
    options.unchanged_since_unix_ns = profile.session.start_unix_ns;
  }
  Works works = addresses_by_module(profile, options);
  find_names(profile, options, works);

  Report report;
  report.problems = name_jit_code(profile, options.jit_directories);
  report.locations = profile.locations.size();
  ProfileNames names(profile);
  std::set<uint32_t> lacking;  // modules whose files were needed
  for (profile::Location& location : profile.locations) {
    const auto work = works.find(location.module);
    if (is_done(profile, location, options)) {
      ++report.named;
    } else if (work != works.end()) {
      const bool had_names = location.line_count != 0;
      const bool is_named = names.enter(location, work->second.lines(location.address));
      report.named += is_named;
      if (!had_names || !is_named) lacking.insert(location.module);
    } else {
      report.named += names.enter_unknown(location);
    }
  }
  if (options.debug_server && !options.debug_server->problem().empty()) {
    report.problems.push_back(options.debug_server->problem());
  }
  for (const auto& [index, work] : works) {
    const std::string problem = work.problem();
    if (!problem.empty() && lacking.contains(index)) {
      report.problems.push_back(fmt::format("{}: {}", work.module().path, problem));
    }
  }
  return report;
}

}  // namespace sampan::symbolizer
