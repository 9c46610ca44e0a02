// Comma-separated values, for spreadsheets, R, pandas and databases: tables of functions, threads
// and samples. The first row has the names of the columns; docs/exports.md describes them. Times
// are seconds with all digits; what an imported profile counts is a number, in columns without `_s`.
//
// A sample's stack is the list of its functions, root first, separated by ';' as in folded stacks.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text/csv_row.h"
#include "exporters/escaped_text.h"
#include "exporters/formats.h"
#include "exporters/output_file.h"
#include "exporters/sample_windows.h"
#include "profile/flat.h"
#include "profile/frames.h"
#include "profile/loop_steps.h"
#include "profile/python_modules.h"
#include "profile/unit.h"

namespace sampan::exporters {
namespace {

using profile::kNone;

// The path of the module, or of Python's functions the module's name.
std::string_view module_text(const profile::Profile& profile,
                             const std::vector<std::string>& python_modules, uint32_t module,
                             uint32_t function) {
  if (module != kNone) return profile.modules[module].path;
  return function == kNone ? std::string_view() : python_modules[function];
}

// The sums of a thread's samples.
struct ThreadSums {
  uint64_t cpu_ns = 0, waiting_ns = 0, runnable_ns = 0, samples = 0, complete = 0;
};

std::vector<ThreadSums> sums_by_thread(const profile::View& view) {
  const profile::Profile& profile = *view.profile;
  std::vector<ThreadSums> sums(profile.threads.size());
  for (const uint32_t index : view.samples) {
    const profile::Sample& sample = profile.samples[index];
    ThreadSums& thread = sums[view.thread_of(sample.thread)];
    (sample.wait == kNone               ? thread.cpu_ns
     : profile.is_runnable(sample.wait) ? thread.runnable_ns
                                        : thread.waiting_ns) += sample.weight_ns;
    ++thread.samples;
    thread.complete += sample.complete;
  }
  return sums;
}

// The name of a column with weights, and a cell of it.
std::string weights_named(const profile::Profile& profile, std::string_view name) {
  return profile::Unit(profile.session, 0).key(name);
}

CsvRow& add_weight(CsvRow& row, const profile::Profile& profile, uint64_t weight) {
  if (profile.session.unit.empty()) return row.seconds(weight);
  return row.number(profile::whole_units(profile.session, weight));
}

class SampleRows {
 public:
  SampleRows(const profile::View& view, OutputFile& file)
      : view_(view),
        profile_(*view.profile),
        file_(file),
        tasks_(profile::task_labels(view)),
        windows_(view, tasks_.of_samples),
        python_modules_(profile::python_modules(profile_)),
        leaves_(profile_.locations.size() + 1) {
    for (uint32_t i = 0; i < profile_.functions.size(); ++i) {
      names_.push_back(folded_text(profile::function_name(profile_, i)));
    }
    names_.push_back(folded_text(profile::function_name(profile_, kNone)));
  }

  Outcome write(uint64_t max_size) {
    Outcome outcome;
    const std::vector<uint64_t> stacks = stack_sizes();
    outcome.notes = windows_.fit(max_size, [&] { return size(stacks); });
    file_.write("time_s," + weights_named(profile_, "weight") +
                ",samples,state,process,pid,thread,tid,task,function,file,line,module,"
                "stack\n");
    for (size_t position = 0; position < view_.threads.size(); ++position) {
      const std::string thread = thread_cells(view_.threads[position]);
      for (const WindowSample& sample : windows_.samples(position)) {
        add_weight(row_.seconds(sample.time_ns), profile_, sample.weight_ns).number(sample.samples);
        row_.raw(sample.waiting ? "waiting" : "cpu").raw(thread).text(tasks_.texts[sample.label]);
        row_.raw(leaf_cells(sample.stack));
        row_.text(stack_text(sample.stack));
        file_.write(row_.end());
      }
    }
    return outcome;
  }

 private:
  std::string thread_cells(uint32_t index) const {
    const profile::Thread& thread = profile_.threads[index];
    const profile::Process& process = profile_.processes[thread.process];
    CsvRow row;
    row.text(process.name).number(process.pid).text(view_.thread_name(index)).number(thread.tid);
    return without_end(row.end());
  }

  // The innermost frame's; made once per location.
  const std::string& leaf_cells(uint32_t stack) {
    const uint32_t location = stack == kNone ? kNone : profile_.stacks[stack].location;
    std::string& cells = location == kNone ? leaves_.back() : leaves_[location];
    if (!cells.empty()) return cells;
    profile::Frame leaf;
    if (stack != kNone) {
      bool first = true;
      profile::for_each_frame(profile_, location, [&](const profile::Frame& frame) {
        if (first) leaf = frame;
        first = false;
      });
    }
    const uint32_t module = location == kNone ? kNone : profile_.locations[location].module;
    CsvRow row;
    row.text(profile::function_name(profile_, leaf.function)).text(profile_.strings[leaf.file]);
    row.number(leaf.line).text(module_text(profile_, python_modules_, module, leaf.function));
    return cells = without_end(row.end());
  }

  static std::string without_end(std::string_view row) {
    return std::string(row.substr(0, row.size() - 1));
  }

  std::string_view stack_text(uint32_t stack) {
    profile::root_to_leaf(profile_, stack, &frames_);
    stack_text_.clear();
    for (const profile::Frame& frame : frames_) {
      if (!stack_text_.empty()) stack_text_ += ';';
      stack_text_ += frame.function == kNone ? names_.back() : names_[frame.function];
    }
    return stack_text_;
  }

  // An upper bound: as if every stack were quoted.
  std::vector<uint64_t> stack_sizes() const {
    std::vector<uint64_t> stacks(profile_.stacks.size());
    for (size_t i = 0; i < stacks.size(); ++i) {
      const profile::Stack& stack = profile_.stacks[i];
      if (stack.prefix != kNone) stacks[i] = stacks[stack.prefix];
      profile::for_each_frame(profile_, stack.location, [&](const profile::Frame& frame) {
        const std::string& name = frame.function == kNone ? names_.back() : names_[frame.function];
        stacks[i] += 1 + name.size() + static_cast<size_t>(std::ranges::count(name, '"'));
      });
    }
    return stacks;
  }

  uint64_t size(const std::vector<uint64_t>& stacks) {
    constexpr uint64_t kNumbers = 60;  // and what separates and quotes
    uint64_t sum = 0;
    for (size_t position = 0; position < view_.threads.size(); ++position) {
      const uint64_t thread = thread_cells(view_.threads[position]).size() + kNumbers;
      for (const WindowSample& sample : windows_.samples(position)) {
        // With quotes, and an apostrophe in front.
        sum += thread + leaf_cells(sample.stack).size() + 2 * tasks_.texts[sample.label].size() + 4;
        if (sample.stack != kNone) sum += stacks[sample.stack];
      }
    }
    return sum;
  }

  const profile::View& view_;
  const profile::Profile& profile_;
  OutputFile& file_;
  const profile::TaskLabels tasks_;
  SampleWindows windows_;
  CsvRow row_;
  std::vector<std::string> python_modules_;  // by function
  std::vector<std::string> names_;           // by function; the last is for kNone
  std::vector<std::string> leaves_;  // by location; the last is for kNone; empty: not made yet
  std::vector<profile::Frame> frames_;
  std::string stack_text_;
};

}  // namespace

Outcome write_csv(const profile::View& view, const std::string& path, uint64_t) {
  const profile::Profile& profile = *view.profile;
  OutputFile file(path);
  file.write(fmt::format("function,module,file,line,{},{},self_samples,total_samples\n",
                         weights_named(profile, "self"), weights_named(profile, "total")));
  const std::vector<std::string> python_modules = profile::python_modules(profile);
  CsvRow row;
  for (const profile::FlatRow& function : profile::flat_table(view)) {
    row.text(profile::function_name(profile, function.function));
    row.text(module_text(profile, python_modules, function.module, function.function));
    row.text(profile.strings[function.file]);
    row.number(function.line);
    add_weight(row, profile, function.self.ns);
    add_weight(row, profile, function.total.ns);
    row.number(function.self.samples).number(function.total.samples);
    file.write(row.end());
  }
  file.commit();
  return {};
}

Outcome write_csv_threads(const profile::View& view, const std::string& path, uint64_t) {
  const profile::Profile& profile = *view.profile;
  const std::vector<ThreadSums> sums = sums_by_thread(view);
  OutputFile file(path);
  file.write("process,pid,thread,tid,cpu_s," + weights_named(profile, "sampled_cpu") +
             ",waiting_s,runnable_s,samples,complete_samples\n");
  CsvRow row;
  for (const uint32_t index : view.threads) {
    const profile::Thread& thread = profile.threads[index];
    const profile::Process& process = profile.processes[thread.process];
    row.text(process.name).number(process.pid).text(view.thread_name(index)).number(thread.tid);
    // The kernel's account covers the whole thread.
    const bool whole = view.merged_into.empty() && sums[index].samples == thread.samples;
    if (whole && thread.cpu_ns) {
      row.seconds(*thread.cpu_ns);
    } else {
      row.empty();
    }
    add_weight(row, profile, sums[index].cpu_ns).seconds(sums[index].waiting_ns);
    row.seconds(sums[index].runnable_ns).number(sums[index].samples).number(sums[index].complete);
    file.write(row.end());
  }
  file.commit();
  return {};
}

Outcome write_csv_samples(const profile::View& view, const std::string& path, uint64_t max_size) {
  OutputFile file(path);
  Outcome outcome = SampleRows(view, file).write(max_size);
  file.commit();
  return outcome;
}

}  // namespace sampan::exporters
