#include "symbolizer/jit_names.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "profile/jit_code.h"
#include "symbolizer/demangle.h"
#include "symbolizer/jit_file.h"

namespace sampan::symbolizer {

namespace {

namespace fs = std::filesystem;
using profile::JitName;
using profile::kNone;
using profile::Profile;

constexpr size_t kMaxNames = size_t{1} << 22;  // of all processes: 64 MB
constexpr size_t kMaxFolders = 1000;           // directories of agents

// The addresses of one process, each with its frame.
using Wanted = std::vector<std::pair<uint64_t, uint32_t>>;

std::map<uint32_t, Wanted> wanted_by_process(const Profile& profile) {
  std::set<std::pair<uint32_t, uint32_t>> frames, stacks;  // by process
  for (const profile::Sample& sample : profile.samples) {
    if (sample.thread >= profile.threads.size()) continue;
    const uint32_t process = profile.threads[sample.thread].process;
    for (uint32_t i = sample.stack; i != kNone && stacks.insert({process, i}).second;
         i = profile.stacks[i].prefix) {
      const uint32_t location = profile.stacks[i].location;
      if (location == kNone || !is_jit(profile.locations[location])) continue;
      frames.insert({process, frame_of(profile, location)});
    }
  }
  std::map<uint32_t, Wanted> wanted;
  for (const auto& [process, frame] : frames) {
    if (process >= profile.processes.size()) continue;
    wanted[process].emplace_back(profile.locations[frame].address, frame);
  }
  for (auto& entry : wanted) std::ranges::sort(entry.second);
  return wanted;
}

class Finder {
 public:
  Finder(Profile& profile, const std::vector<std::string>& directories)
      : profile_(profile), directories_(directories) {}

  void find(uint32_t process, const Wanted& wanted) {
    const int32_t pid = profile_.processes[process].pid;
    const UnixNs begun_ns = begun_unix_ns(profile_, profile_.processes[process]);
    std::set<uint32_t> named;  // frames that have names from dumps
    const auto take_into = [&](const auto& take) {
      return [&, take](const JitCode& code) {
        auto next = std::ranges::lower_bound(wanted, std::pair(code.begin, uint32_t{0}));
        for (; next != wanted.end() && next->first < code.end; ++next) take(code, next->second);
      };
    };
    for (const std::string& directory : directories_) {
      const std::string path = fmt::format("{}/jit-{}.dump", directory, pid);
      read(path, begun_ns, [&](FILE* file) {
        return read_jit_dump(file, static_cast<uint32_t>(pid),
                             take_into([&](const JitCode& code, uint32_t frame) {
                               named.insert(frame);
                               add(process, frame, code);
                             }));
      });
    }
    for (const std::string& directory : directories_) {
      std::map<uint32_t, std::string> last;
      const std::string path = fmt::format("{}/perf-{}.map", directory, pid);
      read(path, begun_ns, [&](FILE* file) {
        return read_perf_map(file, take_into([&](const JitCode& code, uint32_t frame) {
                               if (!named.contains(frame)) last[frame] = code.name;
                             }));
      });
      for (const auto& [frame, name] : last) add(process, frame, {.name = name});
    }
  }

  std::vector<JitName> take_names() { return std::move(names_); }
  std::vector<std::string> problems() {
    if (left_out_ != 0) {
      problems_.push_back(
          fmt::format("{} names of code made at run time were too many", left_out_));
    }
    return problems_;
  }

 private:
  void read(const std::string& path, UnixNs begun_ns,
            const std::function<std::string(FILE*)>& parse) {
    const JitFile file = open_jit_file(path, begun_ns);
    if (file == nullptr) return;
    const std::string problem = parse(file.get());
    if (!problem.empty()) problems_.push_back(fmt::format("{}: {}", path, problem));
  }

  void add(uint32_t process, uint32_t frame, const JitCode& code) {
    if (names_.size() >= kMaxNames) {
      ++left_out_;
      return;
    }
    const SessionClock clock{profile_.session.start_monotonic_ns};
    names_.push_back({process, frame, clock.start_ns != 0 ? clock.at(code.time_ns) : SessionNs(),
                      profile_.strings.intern(code.name)});
  }

  Profile& profile_;
  const std::vector<std::string>& directories_;
  std::vector<JitName> names_;
  std::vector<std::string> problems_;
  size_t left_out_ = 0;
};

// Most are names of symbols.
void demangle_names(Profile& profile) {
  std::vector<JitName> names = profile.jit_names;
  for (JitName& row : names) {
    row.name = profile.strings.intern(demangle(profile.strings[row.name].c_str()));
  }
  if (names != profile.jit_names) profile::name_jit_code(std::move(names), &profile);
}

std::vector<std::string> read_files(Profile& profile, const std::vector<std::string>& directories) {
  Finder finder(profile, directories);
  for (const auto& [process, wanted] : wanted_by_process(profile)) finder.find(process, wanted);
  std::vector<std::string> problems = finder.problems();
  profile::name_jit_code(finder.take_names(), &profile);
  return problems;
}

}  // namespace

bool is_made_here(const Profile& profile) {
  char host[256] = {};
  return profile.origins.empty() && gethostname(host, sizeof host - 1) == 0 &&
         profile.session.host == host;
}

std::vector<std::string> default_jit_directories() {
  std::vector<std::string> result = {".", "/tmp"};
  for (const char* variable : {"JITDUMPDIR", "HOME"}) {
    const char* base = std::getenv(variable);
    if (base == nullptr || *base == '\0') continue;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(fs::path(base) / ".debug/jit", error)) {
      if (result.size() < kMaxFolders) result.push_back(entry.path());
    }
  }
  return result;
}

std::vector<std::string> name_jit_code(Profile& profile,
                                       const std::vector<std::string>& directories) {
  std::vector<std::string> problems;
  if (!directories.empty() && std::ranges::any_of(profile.locations, profile::is_jit) &&
      is_made_here(profile)) {
    problems = read_files(profile, directories);
  }
  demangle_names(profile);
  return problems;
}

}  // namespace sampan::symbolizer
