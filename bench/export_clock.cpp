// export_clock RECORDING DIRECTORY: what each export of a recording costs, without the lookup of
// names, which is done once before. Prints a line for each: its name, seconds, seconds of CPU, and
// the peak resident memory in MB. The first is "open": reading the recording and making the page of
// `report`.
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <string>

#include "exporters/exporter.h"
#include "profile/load.h"
#include "recording/reader.h"
#include "reports/report.h"
#include "symbolizer/symbolizer.h"

namespace {

using namespace sampan;

void print_row(std::string_view name, const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu_begin = std::clock();
  work();
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin);
  const double cpu_seconds = static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{} {:.3f} {:.3f} {:.0f}\n", name, seconds.count(), cpu_seconds,
             static_cast<double>(usage.ru_maxrss) / 1024);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    fmt::print(stderr, "usage: export_clock RECORDING DIRECTORY\n");
    return 2;
  }
  profile::Profile profile;
  print_row("open", [&] {
    profile = profile::load(recording::read(argv[1]));
    reports::page(profile::select(profile));
  });
  symbolizer::symbolize(profile);
  const profile::View view = profile::select(profile);
  // Each in a process of its own, so that the peak is its own.
  for (const exporters::Format& format : exporters::formats()) {
    if (fork() == 0) {
      const std::string path = fmt::format("{}/{}{}", argv[2], format.name, format.suffix);
      print_row(format.name, [&] { exporters::write_file(view, format, path); });
      _exit(0);
    }
    wait(nullptr);
  }
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
