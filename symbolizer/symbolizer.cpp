#include "symbolizer/symbolizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/interner.h"
#include "profile/frames.h"
#include "profile/jit_code.h"
#include "profile/locks.h"
#include "symbolizer/jit_names.h"
#include "symbolizer/module_place.h"
#include "symbolizer/module_work.h"
#include "symbolizer/name_cache.h"
#include "symbolizer/source_lines.h"

namespace sampan::symbolizer {

namespace {

constexpr std::chrono::milliseconds kTick{100};
constexpr size_t kFewLocations = 256;  // not worth a second thread

using Jobs = std::vector<std::function<void()>>;
using Works = std::map<uint32_t, ModuleWork>;

// A fifth of the profiled time; inflating makes 400 bytes per microsecond.
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
    works.try_emplace(location.module, module, place_of(module, options), options)
        .first->second.add(location.address);
  }
  return works;
}

void run_here(const Jobs& jobs, const std::function<void()>& tick) {
  auto last = std::chrono::steady_clock::now();
  for (const std::function<void()>& job : jobs) {
    job();
    const auto now = std::chrono::steady_clock::now();
    if (!tick || now - last < kTick) continue;
    last = now;
    tick();
  }
}

// Runs the jobs, which must not throw, and returns when all are done. `tick`, which may be empty, is
// called from the calling thread at most ten times a second. With one thread the caller runs the
// jobs itself.
void run_parallel(const Jobs& jobs, unsigned threads, const std::function<void()>& tick) {
  if (threads <= 1 || jobs.size() <= 1) return run_here(jobs, tick);
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::condition_variable finished;
  size_t running = std::min<size_t>(threads, jobs.size());
  std::vector<std::jthread> workers;
  for (size_t i = running; i > 0; --i) {
    workers.emplace_back([&] {
      for (size_t job; (job = next++) < jobs.size();) jobs[job]();
      const std::lock_guard lock(mutex);
      --running;
      finished.notify_one();
    });
  }
  std::unique_lock lock(mutex);
  while (!finished.wait_for(lock, kTick, [&] { return running == 0; })) {
    lock.unlock();
    if (tick) tick();
    lock.lock();
  }
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

// Enters results into the profile: each function once, each location with its lines.
class ProfileNames {
 public:
  // Keeps what is in the profile already unless something better is entered.
  explicit ProfileNames(profile::Profile& profile);

  // `lines`: at least one, each with a function. Returns whether all have names from a source.
  bool enter(profile::Location& location, const SourceLines& lines);
  // For a location without a module: generated code, "[jit]" unless it has a name, or what is no code
  // (profile::is_jit). Returns whether it has a name.
  bool enter_unknown(profile::Location& location);

 private:
  struct Hash {
    size_t operator()(const profile::Function& row) const {
      return hash_of(std::tuple(row.name, row.file, row.line, row.module));
    }
  };

  std::span<const profile::Line> lines_of(const profile::Location& location) const;
  bool has_name(const profile::Location& location) const;
  uint32_t function(const profile::Function& function);
  uint32_t text(const std::string* text) { return text != nullptr ? intern(*text) : 0; }
  uint32_t intern(std::string_view text) { return profile_.strings.intern(text); }

  profile::Profile& profile_;
  std::unordered_map<profile::Function, uint32_t, Hash> functions_;
};

ProfileNames::ProfileNames(profile::Profile& profile) : profile_(profile) {
  for (uint32_t i = 0; i < profile.functions.size(); ++i) {
    functions_.try_emplace(profile.functions[i], i);
  }
}

bool ProfileNames::enter(profile::Location& location, const SourceLines& lines) {
  const bool is_named =
      std::ranges::none_of(lines, [](const SourceLine& line) { return line.function->is_place; });
  if (!is_named && location.line_count != 0) return has_name(location);
  std::vector<profile::Line> found;
  for (const SourceLine& line : lines) {
    const SourceFunction& source = *line.function;
    const profile::Function entry{intern(source.name), text(source.file), source.line,
                                  location.module};
    found.push_back({function(entry), text(line.file), line.line});
  }
  const auto same = [](const profile::Line& a, const profile::Line& b) {
    return a.function == b.function && a.file == b.file && a.line == b.line;
  };
  if (std::ranges::equal(found, lines_of(location), same)) return is_named;
  location.first_line = static_cast<uint32_t>(profile_.lines.size());
  location.line_count = static_cast<uint32_t>(found.size());
  profile_.lines.insert(profile_.lines.end(), found.begin(), found.end());
  return is_named;
}

std::span<const profile::Line> ProfileNames::lines_of(const profile::Location& location) const {
  return std::span(profile_.lines).subspan(location.first_line, location.line_count);
}

// "[module+0x1234]" stands for a place, and is not a name.
bool ProfileNames::has_name(const profile::Location& location) const {
  const profile::Line& outermost = lines_of(location).back();
  return !profile_.strings[profile_.functions[outermost.function].name].starts_with('[');
}

bool ProfileNames::enter_unknown(profile::Location& location) {
  SourceFunction source;
  if (location.wait != profile::kNone) {
    profile::Wait& wait = profile_.waits[location.wait];
    if (wait.lock != profile::kNone) {
      wait.object = profile::lock_name(profile_, wait.lock);
      location.line_count = 0;  // its name was of when the lock had none
    }
    source.name = profile::wait_name(wait);
  } else {
    source.name = location.address == profile::kShortThread     ? "[short thread]"
                  : location.address == profile::kFramesLeftOut ? "[frames left out]"
                                                                : profile::kUnnamedCode;
  }
  source.is_place = true;
  return enter(location, {{&source, nullptr, 0}});
}

uint32_t ProfileNames::function(const profile::Function& entry) {
  const auto next = static_cast<uint32_t>(profile_.functions.size());
  const auto [known, is_new] = functions_.try_emplace(entry, next);
  if (is_new) profile_.functions.push_back(entry);
  return known->second;
}

}  // namespace

Options environment_options() {
  Options options;
  options.debug_server = DebugServer::of_environment();
  options.jit_directories = default_jit_directories();
  options.cache_directory = default_cache_directory();
  return options;
}

Report symbolize(profile::Profile& profile, const Options& wanted) {
  Options options = wanted;
  options.debug_directories = debug_directories(wanted);
  if (profile.session.is_imported()) {
    // Names in the file count, also without lines; processes of other times and machines may have had its pids.
    options.only_unnamed = true;
    options.jit_directories.clear();
  }
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
