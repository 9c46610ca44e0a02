// sampan: a sampling profiler for native programs on Linux.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "cli/command.h"

namespace {

using namespace sampan::cli;

struct CommandFile {
  void (*add)(CLI::App&, Commands&);
  std::vector<std::string_view> names;
};

const CommandFile kCommandFiles[] = {
    {add_run, {"run", "record"}},
    {add_attach, {"attach"}},
    {add_doctor, {"doctor"}},
    {add_collect, {"collect"}},
    {add_ctl, {"ctl"}},
    {add_dump, {"dump"}},
    {add_top, {"top"}},
    {add_report, {"report"}},
    {add_export, {"export", "formats"}},
    {add_merge, {"merge"}},
    {add_diff, {"diff"}},
    {add_spans, {"spans"}},
    {add_metrics, {"metrics"}},
    {add_annotate, {"annotate"}},
    {add_symbolize, {"symbolize"}},
    {add_addr2line, {"addr2line"}},
    {add_view, {"view"}},
    {add_serve, {"serve"}},
    {add_push, {"push"}},
    {add_version, {"version"}},
};

// All, unless the first word is one: to declare the others takes longer than many of them need.
void declare_commands(CLI::App& app, Commands& commands, std::string_view first_word) {
  const auto named = std::ranges::find_if(kCommandFiles, [&](const CommandFile& file) {
    return std::ranges::find(file.names, first_word) != file.names.end();
  });
  if (named != std::end(kCommandFiles)) return named->add(app, commands);
  for (const CommandFile& file : kCommandFiles) file.add(app, commands);
}

int run(int argc, char** argv) {
  CLI::App app("A sampling profiler for native programs on Linux", "sampan");
  Commands commands;
  declare_commands(app, commands, argc > 1 ? argv[1] : "");
  return parse_arguments(app, commands, argc, argv)();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const sampan::cli::UsageError& error) {
    fmt::print(stderr, "sampan: {}\n", error.what());
    return sampan::cli::kExitUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "sampan: {}\n", error.what());
    return sampan::cli::kExitFailure;
  }
}
