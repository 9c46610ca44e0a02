#include "sampler/inspect/permission.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include "sampler/launch/program.h"
#include "sampler/process/kernel_limits.h"
#include "wire/control_block.h"

namespace sampan::sampler {
namespace {

constexpr const char* kShimSubject = "shim";
constexpr const char* kFilterSubject = "seccomp filter";

uint64_t limit_of(int resource) {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  return limit.rlim_cur;
}

std::string advice_without_shim(Preload kind) {
  switch (kind) {
    case Preload::kYes: return "";
    case Preload::kShows:
    case Preload::kOtherMachine: return "it runs, and nothing is sampled";
    case Preload::kOtherRights: return "root samples it from outside (perf or ptrace)";
    case Preload::kEmulator:
    case Preload::kStatic:
    case Preload::kMusl: return "`sampan run` samples it from outside (perf or ptrace)";
  }
  return "";
}

Finding shim_finding(const std::string& path) {
  const Preloadability program = preloadability(path);
  if (program.kind != Preload::kYes) {
    return {false, kShimSubject, program.reason, advice_without_shim(program.kind)};
  }
  std::string missing;
  return {true, kShimSubject,
          fmt::format("can be preloaded into {}", resolve_interpreter(path, missing)), ""};
}

Finding filter_finding() {
  if (!under_seccomp_filter()) return {true, kFilterSubject, "none is inherited", ""};
  if (seccomp_filter_permits_samples()) {
    return {true, kFilterSubject, "inherited; it permits samples", ""};
  }
  return {false, kFilterSubject, "inherited; it forbids signals, or the return from them",
          "run it outside of the container or service that has the filter, or permit rt_sigreturn "
          "and timer_create in it: the program runs, and nothing is sampled"};
}

Finding file_size_finding() {
  const std::string subject = "RLIMIT_FSIZE";
  const uint64_t limit = limit_of(RLIMIT_FSIZE);
  const auto [slots, markers] = wire::shape_within(limit, wire::kMostSlots);
  if (markers) return {true, subject, "large enough", ""};
  return {slots > 0, subject,
          slots > 0
              ? fmt::format("{} MB: {} threads can be sampled at a time, and no markers",
                            limit >> 20, slots)
              : fmt::format("{} MB: no room for the memory shared with the program", limit >> 20),
          slots > 0 ? "" : "raise it (ulimit -f): the program runs, and nothing is sampled"};
}

Finding address_space_finding() {
  const std::string why = why_no_address_space();
  if (!why.empty()) return {false, "RLIMIT_AS", why, "raise it (ulimit -v)"};
  const uint64_t limit = limit_of(RLIMIT_AS);
  const uint32_t slots = wire::slots_permitted(limit);
  if (slots == wire::kMostSlots) return {true, "RLIMIT_AS", "large enough", ""};
  return {true, "RLIMIT_AS",
          fmt::format("{} MB: {} threads can be sampled at a time", limit >> 20, slots), ""};
}

}  // namespace

std::string why_no_address_space() {
  const uint64_t limit = limit_of(RLIMIT_AS);
  if (wire::slots_permitted(limit) > 0) return "";
  return fmt::format(
      "The limit on the program's address space (ulimit -v) is {} MB. The shim needs {} MB, and "
      "begins only where that is at most an eighth",
      limit >> 20, wire::MemoryShape{wire::kFewestSlots, true}.size() >> 20);
}

std::vector<Finding> examine_command(const std::string& word) {
  const std::string path = find_program(word);
  if (path.empty()) {
    return {{false, "program", fmt::format("{} was not found, or cannot be executed", word), ""}};
  }
  std::string missing;
  if (resolve_interpreter(path, missing).empty()) {
    return {{false, "program", fmt::format("{} needs {}, which was not found", path, missing), ""}};
  }
  std::vector<Finding> findings = {shim_finding(path)};
  if (const std::string runtime = runtime_before_shim(path); !runtime.empty()) {
    findings.push_back(
        {true, "sanitizer", fmt::format("{} is loaded before the shim", runtime), ""});
  }
  findings.push_back(filter_finding());
  findings.push_back(file_size_finding());
  findings.push_back(address_space_finding());
  return findings;
}

}  // namespace sampan::sampler
