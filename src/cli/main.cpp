// sampan: a sampling profiler for native programs on Linux.
#include <fmt/core.h>

#include <cstdio>
#include <exception>

#include "cli/arguments.h"
#include "cli/command.h"

namespace {

int run(int argc, char** argv) {
  using namespace sampan::cli;
  CLI::App app("A sampling profiler for native programs on Linux", "sampan");
  Commands commands;
  add_run(app, commands);
  add_attach(app, commands);
  add_doctor(app, commands);
  add_collect(app, commands);
  add_dump(app, commands);
  add_report(app, commands);
  add_export(app, commands);
  add_merge(app, commands);
  add_diff(app, commands);
  add_annotate(app, commands);
  add_view(app, commands);
  add_version(app, commands);
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
