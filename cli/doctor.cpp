// sampan doctor [PID|RECORDING|-- COMMAND]: what this machine permits, what a command can expect, and what is missing for
// names.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/text/json_writer.h"
#include "base/text/readable.h"
#include "cli/command.h"
#include "cli/latest_recording.h"
#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "profile/frames.h"
#include "profile/load.h"
#include "profile/python_notes.h"
#include "profile/rates.h"
#include "profile/unit.h"
#include "profile/unresolved.h"
#include "reports/report.h"
#include "reports/table.h"
#include "sampler/inspect/permission.h"
#include "sampler/launch/program.h"
#include "sampler/process/proc_task.h"
#include "sampler/process/process_modules.h"
#include "symbolizer/missing_names.h"
#include "symbolizer/module_place.h"

namespace sampan::cli {
namespace {

using sampler::Finding;

struct DoctorOptions {
  std::string target;
  std::string sysroot;
  bool json = false;
};

// The modules of the process, without duplicates.
std::vector<Finding> describe_modules(pid_t pid) {
  std::vector<symbolizer::ModuleFile> modules;
  std::set<std::string> seen;
  sampler::ProcessModules mapped(pid);
  const sampler::ProcessModules::Changes changes = mapped.refresh(monotonic_ns());
  for (const auto& record : changes.loaded) {
    const bool is_file = record.path.starts_with("/");  // not the vdso
    if (!is_file || !seen.insert(record.path).second) continue;
    symbolizer::ModuleFile module;
    module.module.path = record.path;
    module.module.build_id = record.build_id;
    module.file = record.path;
    for (const sampler::HiddenFile& hidden : changes.hidden) {
      if (hidden.path == record.path) module.file = hidden.open_as();
    }
    modules.push_back(std::move(module));
  }
  const std::vector<symbolizer::MissingNames> names = symbolizer::missing_names(modules);
  std::vector<Finding> findings;
  for (const auto& module : modules) {
    const std::string python = profile::unknown_python(module.module.path);
    if (python.empty()) continue;
    findings.push_back({false, module.module.path,
                        fmt::format("sampan does not know {}: its stacks are native", python), ""});
  }
  for (size_t i = 0; i < modules.size(); ++i) {
    findings.push_back(
        {names[i].complete, modules[i].module.path, names[i].verdict, names[i].advice});
  }
  if (modules.empty()) {
    findings.push_back(
        {false, "modules", fmt::format("not known: /proc/{}/maps cannot be read", pid), ""});
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

std::string to_json(const std::vector<Finding>& command, const std::vector<Finding>& machine,
                    const std::vector<Finding>& modules) {
  Json json;
  const auto members = [&json](const Finding& finding) {
    json.member("subject", finding.subject);
    json.member("good", finding.good);
    json.member("verdict", finding.verdict);
    json.member("advice", finding.advice);
  };
  json.object([&] {
    if (!command.empty()) json.objects("command", command, members);
    json.objects("findings", machine, members);
    json.objects("modules", modules, members);
  });
  return json.text();
}

// A recording: the modules with CPU time that has no names, and what would supply them.

using symbolizer::MissingNames;

struct ModuleRow {
  profile::Unresolved lack;
  std::string module;
  std::string build_id;
  MissingNames names;
};

// `command`: as it was recorded.
MissingNames of_run_time_code(const std::vector<std::string>& command) {
  const auto asks_for_map = [](const std::string& word) {
    return word.find("-perf-basic-prof") != word.npos ||
           word.find("DumpPerfMapAtExit") != word.npos;
  };
  if (std::ranges::any_of(command, asks_for_map)) {
    return {.verdict = "code that was made at run time, which is not in the runtime's map"};
  }
  return {
      .verdict = "code that was made at run time, without a map",
      .advice =
          "let the runtime write one: node --perf-basic-prof, java -XX:+DumpPerfMapAtExit; or tell "
          "debuggers, as LLVM does: postgres -c jit_debugging_support=on"};
}

// Missing names, by module: the modules with code in the recording that lack something.
std::map<uint32_t, MissingNames> missing_names(const profile::Profile& profile,
                                               const symbolizer::Options& where) {
  std::map<uint32_t, std::vector<uint64_t>> svmas;
  for (const profile::Location& location : profile.locations) {
    if (location.module != profile::kNone) svmas[location.module].push_back(location.address);
  }
  std::vector<symbolizer::ModuleFile> files;
  for (auto& [module, addresses] : svmas) {
    const profile::Module& row = profile.modules[module];
    files.push_back({row, symbolizer::place_of(row, where), std::move(addresses)});
  }
  std::vector<MissingNames> names = symbolizer::missing_names(files, where);
  std::map<uint32_t, MissingNames> result;
  size_t next = 0;
  for (const auto& entry : svmas) result.emplace(entry.first, std::move(names[next++]));
  return result;
}

// First the modules with CPU time that lacks names, then those that only lack inlined functions.
std::vector<ModuleRow> rows_of(const profile::Profile& profile, const std::string& sysroot) {
  symbolizer::Options where;
  where.sysroot = sysroot;
  std::map<uint32_t, MissingNames> names = missing_names(profile, where);
  std::vector<ModuleRow> rows;
  const auto add = [&](const profile::Unresolved& lack, MissingNames lacking) {
    const profile::Module& module = profile.modules[lack.module];
    if (lacking.complete) lacking.advice = "its debug information does not know all of its code";
    rows.push_back({lack, module.path, fmt::format("{:02x}", fmt::join(module.build_id, "")),
                    std::move(lacking)});
  };
  for (const profile::Unresolved& lack : unresolved_by_module(profile)) {
    if (lack.module == profile::kNone) {
      rows.push_back({lack, "", "", of_run_time_code(profile.session.command)});
    } else {
      add(lack, std::move(names.extract(lack.module).mapped()));
    }
  }
  for (auto& [module, lacking] : names) {
    if (lacking.lacks_splits) add({.module = module}, std::move(lacking));
  }
  return rows;
}

uint64_t sampled_ns(const profile::Profile& profile) {
  uint64_t sum = 0;
  for (const profile::Sample& sample : profile.samples) {
    if (sample.wait == profile::kNone) sum += sample.weight_ns;
  }
  return sum;
}

std::string recording_json(const profile::Profile& profile, uint64_t all_ns,
                           const std::vector<ModuleRow>& rows) {
  uint64_t unnamed_ns = 0;
  for (const ModuleRow& row : rows) unnamed_ns += row.lack.unnamed_ns;
  const profile::Unit unit(profile.session, all_ns);
  const auto key = [&](std::string_view what) {
    return std::string(what) + (unit.is_time() ? "_cpu_s" : "");
  };
  Json json;
  json.object([&] {
    if (!unit.is_time()) json.member("unit", unit.what());
    json.member("rate", profile::rate_text(profile));
    json.member("cost", profile::cost_text(profile));
    json.member("python", profile::python_notes(profile));
    json.key("lost");
    json.object([&] {
      for (const profile::Lost& lost : losses(profile)) json.member(lost.key, lost.count);
    });
    json.member(key("sampled"), unit.value(all_ns));
    json.member(key("unnamed"), unit.value(unnamed_ns));
    json.objects("modules", rows, [&](const ModuleRow& row) {
      json.member("module", row.module);
      json.member("build_id", row.build_id);
      json.member(key("unnamed"), unit.value(row.lack.unnamed_ns));
      json.member(key("unnamed_on_stack"), unit.value(row.lack.on_stack_ns));
      json.member(key("without_lines"), unit.value(row.lack.without_lines_ns));
      json.member("verdict", row.names.verdict);
      json.member("advice", row.names.advice);
      json.member("package", row.names.package);
    });
  });
  return json.text();
}

void print_recording(const profile::Profile& profile, uint64_t all_ns,
                     const std::vector<ModuleRow>& rows, const reports::PageOptions& options) {
  const reports::Style style(options.colour);
  uint64_t unnamed_ns = 0;
  for (const ModuleRow& row : rows) unnamed_ns += row.lack.unnamed_ns;
  const auto all = static_cast<double>(all_ns);
  if (profile.session.rate_hz != 0) fmt::print("rate: {}\n", profile::rate_text(profile));
  if (const std::string cost = profile::cost_text(profile); !cost.empty()) {
    fmt::print("cost: {}\n", cost);
  }
  for (const std::string& note : profile::python_notes(profile)) fmt::print("python: {}\n", note);
  for (const profile::Lost& lost : losses(profile)) {
    fmt::print("lost: {} {}\n", sampan::count(lost.count), lost.text);
  }
  const profile::Unit unit(profile.session, all_ns);
  fmt::print("{} of {}{} ({} %) in functions without a name\n", unit.amount(unnamed_ns),
             unit.amount(all_ns), unit.is_time() ? " of CPU" : "",
             sampan::percent(static_cast<double>(unnamed_ns), all));
  if (!rows.empty()) {
    fmt::print("{}\n", style.faint("  no name    on stack    no line  module"));
  }
  for (const ModuleRow& row : rows) {
    const auto share = [&](uint64_t ns) {
      return sampan::percent(static_cast<double>(ns), all) + " %";
    };
    fmt::print("{:>9}  {:>10} {:>10}  {}\n", share(row.lack.unnamed_ns),
               share(row.lack.on_stack_ns), share(row.lack.without_lines_ns),
               row.module.empty() ? "[made at run time]" : sampan::printable(row.module));
    const auto lines_of = [&](const std::string& text) {
      return sampan::wrap(sampan::printable(text), options.text_width() - 6);
    };
    for (const std::string& line : lines_of(row.names.verdict)) fmt::print("      {}\n", line);
    for (const std::string& line : lines_of(row.names.advice)) {
      fmt::print("      {}\n", style.faint(line));
    }
  }
}

int examine_recording(const std::string& path, const std::string& sysroot, bool json) {
  profile::Profile profile = profile::load(read_recording(path));
  find_names(profile, sysroot);
  const std::vector<ModuleRow> rows = rows_of(profile, sysroot);
  const uint64_t all_ns = sampled_ns(profile);
  if (json) {
    fmt::print("{}", recording_json(profile, all_ns, rows));
  } else {
    print_recording(profile, all_ns, rows, reports::page_options_for(stdout));
  }
  return 0;
}

// A file or the directory of a run; neither a pid nor the name of a process.
bool is_recording(const std::string& target) {
  const bool is_number = std::ranges::all_of(target, [](char c) { return c >= '0' && c <= '9'; });
  std::error_code error;
  return !is_number && (std::filesystem::is_regular_file(target, error) ||
                        std::filesystem::exists(recording_path(target), error));
}

// One of the engines (perf, ptrace, poll) is enough; a command needs none if the shim gets into it, and nothing else may
// forbid samples.
bool can_be_profiled(const std::vector<Finding>& command, const std::vector<Finding>& machine) {
  const auto is_shim = [](const Finding& finding) { return finding.subject == "shim"; };
  const auto is_way = [&](const Finding& finding) {
    return finding.good && (is_shim(finding) || finding.subject.ends_with(" engine"));
  };
  return std::ranges::all_of(command, [&](const Finding& it) { return it.good || is_shim(it); }) &&
         (std::ranges::any_of(command, is_way) || std::ranges::any_of(machine, is_way));
}

int examine(const DoctorOptions& options, const std::vector<std::string>& words) {
  if (const std::string target = named_recording(options.target); is_recording(target)) {
    return examine_recording(recording_path(target), options.sysroot, options.json);
  }
  std::optional<pid_t> pid;
  if (!options.target.empty()) {
    if (!words.empty()) throw UsageError("doctor: either a process or a command");
    pid = sampler::find_process(options.target);
    const std::string why = sampler::why_not_profilable(*pid);
    if (!why.empty()) throw Error("{}", why);
  }
  const std::vector<Finding> command =
      words.empty() ? std::vector<Finding>() : sampler::examine_command(words.front());
  const std::vector<Finding> machine = sampler::examine(pid);
  const std::vector<Finding> modules = pid ? describe_modules(*pid) : std::vector<Finding>();
  if (options.json) {
    fmt::print("{}", to_json(command, machine, modules));
  } else {
    const reports::Style style(reports::page_options_for(stdout).colour);
    if (!command.empty()) fmt::print("{}\n", words.front());
    print(command, style);
    if (!command.empty()) fmt::print("\n");
    fmt::print("{}\n", pid ? fmt::format("Process {} ({})", *pid, sampler::program_of(*pid))
                           : "This machine");
    print(machine, style);
    if (!modules.empty()) fmt::print("\nNames\n");
    print(modules, style);
  }
  return can_be_profiled(command, machine) ? 0 : kExitFailure;
}

}  // namespace

void add_doctor(CLI::App& app, Commands& commands) {
  CLI::App* const command = app.add_subcommand(
      "doctor", "Show what this machine permits, and what a command, process or recording lacks");
  set_examples(*command, {"sampan doctor", "sampan doctor PID", "sampan doctor -- ./program"},
               "sampan doctor [OPTIONS] [TARGET | -- COMMAND [ARG...]]");
  const auto options = std::make_shared<DoctorOptions>();
  command->add_option(
      "TARGET", options->target,
      "A pid, the name of a process if it is unique, or a recording, to see what its "
      "modules lack for names");
  add_sysroot_option(*command, options->sysroot);
  command->add_flag("--json", options->json, "Print JSON, see docs/schemas/doctor.json");
  commands.actions[command] = [options, &commands] {
    return examine(*options, std::exchange(commands.program, {}));
  };
}

}  // namespace sampan::cli
