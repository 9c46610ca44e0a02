// The text of `perf script`, for the Firefox Profiler, speedscope, FlameGraph's
// stackcollapse-perf.pl and FlameScope. Format: linux tools/perf/builtin-script.c, as those
// programs read it.
//
//   worker 100/101     1.004000:    4000000 cpu-clock:
//                4711 work(void*) (/usr/bin/app)
//
// - A frame begins with a tab: an address may have 16 digits. A blank line ends a sample, also the
//   last one. Frames are leaf first.
// - The period is the sample's weight in ns, or what an imported profile counts. All samples have one event, because speedscope shows
//   only one. Time is as in `sampan report --from`.
// - Threads follow each other; the samples of each are by time. Readers need nothing more.
// - Addresses are SVMAs in the module. An inlined function has "(inlined)" as its module, as in
//   perf.
// - speedscope looks for the pid after the shortest name of at least two characters: so a number in
//   a thread's name is joined to the text before it, and a name of one character is followed by two
//   spaces. It drops frames whose module has a space.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <vector>

#include "exporters/escaped_text.h"
#include "exporters/formats.h"
#include "exporters/output_file.h"
#include "exporters/sample_windows.h"
#include "profile/frames.h"
#include "profile/python_modules.h"
#include "profile/unit.h"

namespace sampan::exporters {
namespace {

using profile::kNone;

std::string thread_text(const std::string& name) {
  std::string text = one_line(name);
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == ' ' && std::isdigit(static_cast<unsigned char>(text[i + 1]))) text[i] = '_';
  }
  text.erase(0, text.find_first_not_of(" \t#"));
  if (text.empty()) text = "thread";
  return text.size() == 1 ? text + ' ' : text;
}

std::string module_text(const std::string& path) {
  std::string text = one_line(path);
  std::replace(text.begin(), text.end(), ' ', '_');
  return text;
}

void append_frame(uint64_t address, std::string_view function, std::string_view module,
                  std::string* out) {
  fmt::format_to(std::back_inserter(*out), "\t{:>16x} {} ({})\n", address, function, module);
}

class PerfScriptWriter {
 public:
  PerfScriptWriter(const profile::View& view, OutputFile& file)
      : view_(view),
        profile_(*view.profile),
        file_(file),
        windows_(view),
        event_(!profile_.session.unit.empty() ? one_line(profile_.session.unit)
               : view.is_of_wall_time()       ? "wall-clock"
                                              : "cpu-clock") {
    append_frame(0, "[unknown]", "[unknown]", &unknown_);
    make_locations();
  }

  Outcome write(uint64_t max_size) {
    Outcome outcome;
    const std::vector<uint64_t> sizes = stack_sizes();
    outcome.notes = windows_.fit(max_size, [&] { return size(sizes); });
    for (size_t position = 0; position < view_.threads.size(); ++position) {
      const std::string head = head_of(view_.threads[position]);
      for (const WindowSample& sample : windows_.samples(position)) write_sample(head, sample);
    }
    return outcome;
  }

 private:
  // The lines of all frames of each location.
  void make_locations() {
    const std::vector<std::string> python_modules = profile::python_modules(profile_);
    std::vector<std::string> names, modules;
    for (uint32_t i = 0; i < profile_.functions.size(); ++i) {
      names.push_back(one_line(profile::function_name(profile_, i)));
    }
    for (const profile::Module& module : profile_.modules) {
      modules.push_back(module_text(module.path));
    }
    for (uint32_t i = 0; i < profile_.locations.size(); ++i) {
      const profile::Location& place = profile_.locations[i];
      std::string& text = locations_.emplace_back();
      profile::for_each_frame(profile_, i, [&](const profile::Frame& frame) {
        std::string_view name = "[unknown]", module = name;
        if (frame.function != kNone) name = names[frame.function];
        if (place.module != kNone) module = modules[place.module];
        if (!profile::is_python(place)) {
          return append_frame(place.address, name, frame.inlined ? "inlined" : module, &text);
        }
        const std::string of_python =
            frame.function == kNone ? "" : module_text(python_modules[frame.function]);
        append_frame(0, name, of_python.empty() ? module : of_python, &text);
      });
    }
  }

  std::vector<uint64_t> stack_sizes() const {
    std::vector<uint64_t> sizes(profile_.stacks.size());
    for (size_t i = 0; i < sizes.size(); ++i) {
      const profile::Stack& stack = profile_.stacks[i];
      sizes[i] = locations_[stack.location].size();
      if (stack.prefix != kNone) sizes[i] += sizes[stack.prefix];
    }
    return sizes;
  }

  // An upper bound for times up to 11 days and weights up to 10 s.
  uint64_t size(const std::vector<uint64_t>& stack_sizes) {
    std::string any;
    append_head({}, &any);
    uint64_t sum = 0;
    for (size_t position = 0; position < view_.threads.size(); ++position) {
      const uint64_t head = head_of(view_.threads[position]).size();
      for (const WindowSample& sample : windows_.samples(position)) {
        sum += head + any.size() + 1;
        sum += sample.stack == kNone ? unknown_.size() : stack_sizes[sample.stack];
      }
    }
    return sum;
  }

  // The text that begins all samples of a thread.
  std::string head_of(uint32_t index) const {
    const profile::Thread& thread = profile_.threads[index];
    return fmt::format("{} {}/{}", thread_text(view_.thread_name(index)),
                       profile_.processes[thread.process].pid, thread.tid);
  }

  void append_head(const WindowSample& sample, std::string* out) const {
    constexpr uint64_t kUsPerSecond = 1'000'000;
    const uint64_t us = sample.time_ns / 1000;
    fmt::format_to(std::back_inserter(*out), " {:>6}.{:06}: {:>10} {}:\n", us / kUsPerSecond,
                   us % kUsPerSecond, profile::whole_units(profile_.session, sample.weight_ns),
                   event_);
  }

  void write_sample(const std::string& head, const WindowSample& sample) {
    text_ = head;
    append_head(sample, &text_);
    if (sample.stack == kNone) text_ += unknown_;
    for (uint32_t i = sample.stack; i != kNone; i = profile_.stacks[i].prefix) {
      text_ += locations_[profile_.stacks[i].location];
    }
    text_ += '\n';
    file_.write(text_);
  }

  const profile::View& view_;
  const profile::Profile& profile_;
  OutputFile& file_;
  SampleWindows windows_;
  std::string event_;
  std::string unknown_;
  std::vector<std::string> locations_;
  std::string text_;  // scratch
};

}  // namespace

Outcome write_perf_script(const profile::View& view, const std::string& path, uint64_t max_size) {
  OutputFile file(path);
  Outcome outcome = PerfScriptWriter(view, file).write(max_size);
  file.commit();
  return outcome;
}

}  // namespace sampan::exporters
