// sampan doctor [PID]: what this machine permits, and whether names will be found.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>

#include "attach/permission.h"
#include "attach/proc_task.h"
#include "attach/process_modules.h"
#include "base/clock.h"
#include "cli/command.h"
#include "reports/json_writer.h"
#include "reports/report.h"
#include "reports/style.h"
#include "sampler/program.h"
#include "symbolizer/module_files.h"
#include "symbolizer/symbolizer.h"

namespace sampan::cli {
namespace {

using attach::Finding;

struct DoctorOptions {
  std::string target;
  bool json = false;
};

std::string places_of(const profile::Module& module, const symbolizer::ModuleFiles& files,
                      const std::vector<std::string>& directories) {
  std::vector<std::string> places = {"the file itself"};
  if (module.build_id.size() > 1) {
    const std::string id = fmt::format("{:02x}", fmt::join(module.build_id, ""));
    for (const std::string& directory : directories) {
      places.push_back(
          fmt::format("{}/.build-id/{}/{}.debug", directory, id.substr(0, 2), id.substr(2)));
    }
  }
  if (const auto link = files.main ? files.main->debug_link() : std::nullopt) {
    places.push_back(fmt::format("{} (beside it, in .debug/, under {})", link->name,
                                 fmt::join(directories, ", ")));
  }
  return fmt::format("looked in {}", fmt::join(places, ", "));
}

// `file`: where it can be opened.
Finding describe(const profile::Module& module, const std::string& file_name) {
  const std::vector<std::string> directories = symbolizer::Options().debug_directories;
  const symbolizer::ModuleFiles files = symbolizer::find_files(module, file_name, directories);
  if (const symbolizer::ElfFile* const file = files.with_debug_info()) {
    const bool own = files.main && file == &*files.main;
    return {true, module.path, own ? "debug information" : "debug information in " + file->path(),
            ""};
  }
  if (!files.main) return {false, module.path, "no names: " + files.problem, ""};
  return {false, module.path, "function names only, no lines and inlines",
          places_of(module, files, directories)};
}

// The modules of the process, each once.
std::vector<Finding> describe_modules(pid_t pid) {
  std::vector<Finding> findings;
  std::set<std::string> seen;
  attach::ProcessModules modules(pid);
  const attach::ProcessModules::Changes changes = modules.refresh(monotonic_ns());
  for (const auto& record : changes.loaded) {
    const bool is_file = record.path.starts_with("/");  // not the vdso
    if (!is_file || !seen.insert(record.path).second) continue;
    profile::Module module;
    module.path = record.path;
    module.build_id = record.build_id;
    std::string file = module.path;
    for (const attach::HiddenFile& hidden : changes.hidden) {
      if (hidden.path == module.path) file = hidden.open_as();
    }
    findings.push_back(describe(module, file));
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

int examine(const DoctorOptions& options) {
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
  CLI::App* const command =
      app.add_subcommand("doctor", "Say what this machine permits, and what a process lacks");
  const auto options = std::make_shared<DoctorOptions>();
  command->add_option("PID", options->target, "A process, or its name where that is unique");
  command->add_flag("--json", options->json, "For programs");
  commands.actions[command] = [options] { return examine(*options); };
}

}  // namespace sampan::cli
