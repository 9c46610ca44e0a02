// sampan doctor [PID|RECORDING]: what this machine permits, and whether names are found.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "attach/permission.h"
#include "attach/proc_task.h"
#include "attach/process_modules.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/doctor_modules.h"
#include "cli/recording_options.h"
#include "reports/json_writer.h"
#include "reports/report.h"
#include "reports/style.h"
#include "sampler/program.h"

namespace sampan::cli {
namespace {

using attach::Finding;

struct DoctorOptions {
  std::string target;
  bool json = false;
};

// The modules of the process, each once.
std::vector<Finding> describe_modules(pid_t pid) {
  std::vector<ModuleFile> modules;
  std::set<std::string> seen;
  attach::ProcessModules mapped(pid);
  const attach::ProcessModules::Changes changes = mapped.refresh(monotonic_ns());
  for (const auto& record : changes.loaded) {
    const bool is_file = record.path.starts_with("/");  // not the vdso
    if (!is_file || !seen.insert(record.path).second) continue;
    ModuleFile module;
    module.module.path = record.path;
    module.module.build_id = record.build_id;
    module.file = record.path;
    for (const attach::HiddenFile& hidden : changes.hidden) {
      if (hidden.path == record.path) module.file = hidden.open_as();
    }
    modules.push_back(std::move(module));
  }
  const std::vector<ModuleNames> names = look_for_names(modules);
  std::vector<Finding> findings;
  for (size_t i = 0; i < modules.size(); ++i) {
    findings.push_back({names[i].good, modules[i].module.path, names[i].verdict, names[i].advice});
  }
  return findings;
}

void print(const std::vector<Finding>& findings, const reports::Style& style) {
  size_t widest = 0;
  for (const Finding& finding : findings) widest = std::max(widest, finding.subject.size());
  widest = std::min<size_t>(widest, 40);
  for (const Finding& finding : findings) {
    fmt::print("  {} {:<{}}  {}\n", finding.good ? "ok" : style.warning("no"), finding.subject,
               widest, finding.verdict);
    if (!finding.advice.empty()) fmt::print("     {}\n", style.faint(finding.advice));
  }
}

std::string to_json(const std::vector<Finding>& machine, const std::vector<Finding>& modules) {
  reports::Json json;
  const auto members = [&json](const Finding& finding) {
    json.member("subject", finding.subject);
    json.member("good", finding.good);
    json.member("verdict", finding.verdict);
    json.member("advice", finding.advice);
  };
  json.object([&] {
    json.objects("findings", machine, members);
    json.objects("modules", modules, members);
  });
  return json.text();
}

// Not a pid, and not the name of a process: a file, or the directory of a run.
bool is_recording(const std::string& target) {
  const bool is_number = std::ranges::all_of(target, [](char c) { return c >= '0' && c <= '9'; });
  std::error_code error;
  return !is_number && (std::filesystem::is_regular_file(target, error) ||
                        std::filesystem::exists(recording_path(target), error));
}

int examine(const DoctorOptions& options) {
  if (is_recording(options.target)) {
    return examine_recording(recording_path(options.target), options.json);
  }
  std::optional<pid_t> pid;
  if (!options.target.empty()) {
    pid = attach::find_process(options.target);
    const std::string why = attach::why_not_profilable(*pid);
    if (!why.empty()) throw Error("{}", why);
  }
  const std::vector<Finding> machine = attach::examine(pid);
  const std::vector<Finding> modules = pid ? describe_modules(*pid) : std::vector<Finding>();
  if (options.json) {
    fmt::print("{}", to_json(machine, modules));
  } else {
    const reports::Style style(reports::page_options_for(stdout).colour);
    fmt::print("{}\n", pid ? fmt::format("Process {} ({})", *pid, sampler::executable_of(*pid))
                           : "This machine");
    print(machine, style);
    if (!modules.empty()) fmt::print("\nNames\n");
    print(modules, style);
  }
  // perf, ptrace, poll: one is enough.
  const bool any = std::any_of(machine.begin(), machine.end(), [](const Finding& finding) {
    return finding.good && finding.subject.ends_with(" engine");
  });
  return any ? 0 : kExitFailure;
}

}  // namespace

void add_doctor(CLI::App& app, Commands& commands) {
  CLI::App* const command = app.add_subcommand(
      "doctor", "Say what this machine permits, and what a process or a recording lacks");
  const auto options = std::make_shared<DoctorOptions>();
  command->add_option(
      "TARGET", options->target,
      "A pid, or the name of a process where it is unique; or a recording: what its "
      "modules lack for names");
  command->add_flag("--json", options->json, "For programs");
  commands.actions[command] = [options] { return examine(*options); };
}

}  // namespace sampan::cli
