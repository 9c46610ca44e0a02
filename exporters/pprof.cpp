// pprof: gzipped profile.proto, for `go tool pprof`, speedscope, Pyroscope and Parca. Format:
// github.com/google/pprof/blob/main/proto/profile.proto.
//
// - Sample types samples/count and cpu/nanoseconds; cpu is the default (speedscope and pprof would
//   take the last one). Recordings of wall time have a third type, wall/nanoseconds, which is the
//   default: samples on CPU have both, waiting ones only wall. Imported profiles may count others
//   than nanoseconds: their second type is cycles/count, or space/bytes.
// - The heap has the four types of Go's heap profiles: alloc_objects, alloc_space, inuse_objects and
//   inuse_space, whichever part of it the view has; that part's space is the default.
// - Waits for locks have the two types of Go's block and mutex profiles: contentions and delay.
// - Threads are labels: thread, process (strings), tid, pid (numbers), named as perf_to_profile's.
//   See `go tool pprof -tags`, -tagfocus=thread=NAME, -tagroot=thread. Samples in a task of asyncio
//   have the label task, too, and those of a request across services trace_id and span_id.
// - A location's first line is the innermost inlined function.
// - A function's system_name stays empty: if it equals the name, pprof takes the name for a mangled
//   one and removes templates and parameters.
// - Python's functions have no address, as no mapping.
// - A frame without a symbol has the function "[module+0x12]", because speedscope drops frames
//   without a function. Every mapping says that it has functions: all names that can be found were
//   found, and pprof must not guess from the file that is at that path now.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/interner.h"
#include "base/units.h"
#include "base/utf8.h"
#include "exporters/formats.h"
#include "exporters/mapping_ranges.h"
#include "exporters/output_file.h"
#include "exporters/sample_labels.h"
#include "exporters/write_stacks.h"
#include "profile/frames.h"
#include "profile/heap.h"
#include "profile/locks.h"
#include "profile/profile.h"
#include "profile/rates.h"
#include "profile/shown.h"
#include "profile/trace_ids.h"
#include "profile/unit.h"

namespace sampan::exporters {
namespace {

using profile::kNone;
using protozero::pbf_writer;

// Field numbers of profile.proto.
namespace profile_field {
constexpr uint32_t kSampleType = 1, kSample = 2, kMapping = 3, kLocation = 4, kFunction = 5,
                   kStringTable = 6, kTimeNanos = 9, kDurationNanos = 10, kPeriodType = 11,
                   kPeriod = 12, kComment = 13, kDefaultSampleType = 14;
}
namespace value_type_field {
constexpr uint32_t kType = 1, kUnit = 2;
}
namespace sample_field {
constexpr uint32_t kLocationId = 1, kValue = 2, kLabel = 3;
}
namespace label_field {
constexpr uint32_t kKey = 1, kString = 2, kNumber = 3;
}
namespace mapping_field {
constexpr uint32_t kId = 1, kMemoryStart = 2, kMemoryLimit = 3, kFileName = 5, kBuildId = 6,
                   kHasFunctions = 7, kHasFileNames = 8, kHasLineNumbers = 9, kHasInlineFrames = 10;
}
namespace location_field {
constexpr uint32_t kId = 1, kMappingId = 2, kAddress = 3, kLine = 4;
}
namespace line_field {
constexpr uint32_t kFunctionId = 1, kLine = 2, kColumn = 3;
}
namespace function_field {
constexpr uint32_t kId = 1, kName = 2, kFileName = 4, kStartLine = 5;
}
constexpr size_t kFlushSize = 1 << 16;

// The string table of the export, for handles of the model and for literals.
class PprofStrings {
 public:
  explicit PprofStrings(const profile::StringTable& strings)
      : strings_(strings), by_handle_(strings.size(), kNone) {}
  int64_t handle(uint32_t handle) {
    if (by_handle_[handle] == kNone) {
      by_handle_[handle] = static_cast<uint32_t>(add(strings_[handle]));
    }
    return by_handle_[handle];
  }
  int64_t add(std::string_view text) { return texts_.handle(valid_utf8(text)); }
  const std::vector<std::string>& texts() const { return texts_.keys(); }

 private:
  const profile::StringTable& strings_;
  std::vector<uint32_t> by_handle_;
  TextTable<> texts_;
};

class PprofWriter {
 public:
  PprofWriter(const profile::View& view, const StackRows& rows, const SampleLabels& labels,
              OutputFile& file)
      : view_(view),
        rows_(rows),
        sample_labels_(labels),
        profile_(*view.profile),
        gzip_(file),
        strings_(profile_.strings),
        used_locations_(profile_.locations.size()),
        used_functions_(profile_.functions.size()),
        modules_(profile_.modules.size()) {}

  void write() {
    write_header();
    write_samples();
    write_locations();
    write_functions();
    write_mappings();
    for (const std::string& text : strings_.texts()) {
      message_.add_string(profile_field::kStringTable, text);
      flush(kFlushSize);
    }
    flush(0);
    gzip_.finish();
  }

 private:
  // A mapping's has_* flags depend on its locations.
  struct ModuleUse {
    bool used = false, files = false, lines = false, inlines = false;
  };

  // Ids are index + 1; the id after the last location's, and the last function's, is "[unknown]".
  uint64_t unknown_location() const { return profile_.locations.size() + 1; }
  uint64_t unknown_function() const { return profile_.functions.size() + 1; }

  // Messages may be split between any fields, so only a part of one is in memory.
  void flush(size_t threshold) {
    if (data_.size() < threshold) return;
    gzip_.write(data_);
    data_.clear();
  }

  void add_value_type(uint32_t field, std::string_view type, std::string_view unit) {
    pbf_writer value_type(message_, field);
    value_type.add_int64(value_type_field::kType, strings_.add(type));
    value_type.add_int64(value_type_field::kUnit, strings_.add(unit));
  }

  void write_header() {
    const profile::Session& session = profile_.session;
    switch (profile_.shown) {
      case profile::Shown::kSamples: write_types(); break;
      case profile::Shown::kHeap: write_heap_types(); break;
      case profile::Shown::kLocks: write_lock_types(); break;
    }
    const SessionNs end_ns = view_.to_ns != UINT64_MAX ? view_.to_ns : profile_.duration_ns();
    const SessionNs from_ns = std::min(view_.from_ns, end_ns);
    message_.add_int64(profile_field::kTimeNanos, static_cast<int64_t>(session.unix_time(from_ns)));
    message_.add_int64(profile_field::kDurationNanos, static_cast<int64_t>(end_ns - from_ns));
    std::string command;
    for (const std::string& word : session.command) command += (command.empty() ? "" : " ") + word;
    add_comment("command: ", command);
    add_comment("host: ", session.host);
    add_comment("profiler: sampan ", session.sampan_version);
  }

  void write_types() {
    add_value_type(profile_field::kSampleType, "samples", "count");
    const auto [type, unit] = main_value();
    add_value_type(profile_field::kSampleType, view_.is_of_wall_time() ? "cpu" : type, unit);
    if (view_.is_of_wall_time()) {
      add_value_type(profile_field::kSampleType, "wall", "nanoseconds");
    }
    message_.add_int64(profile_field::kDefaultSampleType, strings_.add(type));
    const uint32_t rate_hz = profile::rate_range(profile_).last_hz;
    if (rate_hz != 0 && profile_.session.unit.empty()) {
      add_value_type(profile_field::kPeriodType, type, unit);
      message_.add_int64(profile_field::kPeriod, static_cast<int64_t>(kNsPerSecond / rate_hz));
    }
  }

  // Those of Go's heap profiles, which viewers know.
  void write_heap_types() {
    for (const std::string_view part : {"alloc", "inuse"}) {
      add_value_type(profile_field::kSampleType, fmt::format("{}_objects", part), "count");
      add_value_type(profile_field::kSampleType, fmt::format("{}_space", part), "bytes");
    }
    const bool is_live = view_.heap == profile::HeapPart::kLive;
    message_.add_int64(profile_field::kDefaultSampleType,
                       strings_.add(is_live ? "inuse_space" : "alloc_space"));
    add_value_type(profile_field::kPeriodType, "space", "bytes");
    const uint64_t mean = watched_time(profile_, profile::Watched::kHeap).least_setting;
    message_.add_int64(profile_field::kPeriod, static_cast<int64_t>(mean));
  }

  void write_lock_types() {
    add_value_type(profile_field::kSampleType, "contentions", "count");
    add_value_type(profile_field::kSampleType, "delay", "nanoseconds");
    message_.add_int64(profile_field::kDefaultSampleType, strings_.add("delay"));
  }

  // The type of the last value of a sample.
  profile::ValueType main_value() const {
    if (!profile_.session.unit.empty()) return profile::counted_type(profile_.session);
    return {view_.is_of_wall_time() ? "wall" : "cpu", "nanoseconds"};
  }

  // pprof shows these above its tables.
  void add_comment(std::string_view what, const std::string& value) {
    if (value.empty()) return;
    message_.add_int64(profile_field::kComment, strings_.add(std::string(what) + value));
  }

  // The labels of all samples of a thread in a task and a request, encoded.
  std::string labels_of(uint32_t index, const SampleLabel& of) {
    const profile::Thread& thread = profile_.threads[index];
    const profile::Process& process = profile_.processes[thread.process];
    std::string labels;
    pbf_writer sample(labels);
    const auto text = [&](std::string_view key, std::string_view value) {
      pbf_writer label(sample, sample_field::kLabel);
      label.add_int64(label_field::kKey, strings_.add(key));
      label.add_int64(label_field::kString, strings_.add(value));
    };
    const auto number = [&](std::string_view key, int64_t value) {
      pbf_writer label(sample, sample_field::kLabel);
      label.add_int64(label_field::kKey, strings_.add(key));
      label.add_int64(label_field::kNumber, value);
    };
    text("thread", view_.thread_name(index));
    number("tid", thread.tid);
    text("process", process.name);
    number("pid", process.pid);
    if (of.task != 0) text("task", sample_labels_.tasks[of.task]);
    if (of.context == kNone) return labels;
    const profile::TraceContext& context = profile_.contexts[of.context];
    text("trace_id", profile::trace_text(context));
    const std::string span_id = profile::span_text(context.span_id);
    if (!span_id.empty()) text("span_id", span_id);
    return labels;
  }

  void write_samples() {
    if (profile_.shown == profile::Shown::kHeap) return write_heap_samples();
    if (profile_.shown == profile::Shown::kLocks) return write_lock_samples();
    for (const profile::WeightedStack& row : rows_) {
      const auto weight =
          static_cast<int64_t>(profile::whole_units(profile_.session, row.weight.ns));
      std::vector<int64_t> values = {static_cast<int64_t>(row.weight.samples), weight};
      if (view_.is_of_wall_time()) {
        if (is_waiting(row.stack)) values[1] = 0;
        values.push_back(weight);
      }
      write_sample(row.thread, row.label, row.stack, values);
    }
  }

  // A stack that is not among the rows was merged into the nearest of its callers that is.
  void write_heap_samples() {
    std::set<std::pair<uint32_t, uint32_t>> rows;
    for (const profile::WeightedStack& row : rows_) rows.emplace(row.thread, row.stack);
    std::map<std::pair<uint32_t, uint32_t>, std::array<double, 4>> sums;
    for (const profile::HeapStack& row : heap_stacks(view_)) {
      uint32_t stack = row.stack;
      while (stack != kNone && !rows.contains({row.thread, stack})) {
        stack = profile_.stacks[stack].prefix;
      }
      std::array<double, 4>& sum = sums[{row.thread, stack}];
      sum[0] += row.allocated.blocks;
      sum[1] += row.allocated.bytes;
      sum[2] += row.live.blocks;
      sum[3] += row.live.bytes;
    }
    for (const auto& [key, sum] : sums) {
      std::vector<int64_t> values;
      for (const double value : sum) values.push_back(std::llround(value));
      write_sample(key.first, 0, key.second, values);
    }
  }

  // Waits are never merged into others, so each stack is a row.
  void write_lock_samples() {
    std::map<std::pair<uint32_t, uint32_t>, profile::LockSum> sums;
    for (const uint32_t index : view_.samples) {
      const profile::Sample& sample = profile_.samples[index];
      sums[{view_.thread_of(sample.thread), sample.stack}].add(profile_.lock_waits[index]);
    }
    for (const auto& [key, sum] : sums) {
      write_sample(key.first, 0, key.second,
                   {std::llround(sum.waits), std::llround(sum.waited_ns)});
    }
  }

  void write_sample(uint32_t thread, uint32_t label, uint32_t stack,
                    const std::vector<int64_t>& values) {
    if (thread != labelled_thread_ || label != label_) {
      labelled_thread_ = thread;
      label_ = label;
      labels_ = labels_of(thread, sample_labels_.labels[label]);
    }
    ids_.clear();
    for (uint32_t i = stack; i != kNone; i = profile_.stacks[i].prefix) {
      ids_.push_back(uint64_t{profile_.stacks[i].location} + 1);
      used_locations_[profile_.stacks[i].location] = true;
    }
    if (ids_.empty()) {
      ids_.push_back(unknown_location());
      unknown_used_ = true;
    }
    sample_data_.clear();
    pbf_writer sample(sample_data_);
    sample.add_packed_uint64(sample_field::kLocationId, ids_.begin(), ids_.end());
    sample.add_packed_int64(sample_field::kValue, values.begin(), values.end());
    sample_data_ += labels_;
    message_.add_message(profile_field::kSample, sample_data_);
    flush(kFlushSize);
  }

  bool is_waiting(uint32_t stack) const {
    return stack != kNone && profile_.locations[profile_.stacks[stack].location].wait != kNone;
  }

  void write_locations() {
    for (uint32_t i = 0; i < profile_.locations.size(); ++i) {
      if (used_locations_[i]) write_location(i);
      flush(kFlushSize);
    }
    if (!unknown_used_) return;
    pbf_writer location(message_, profile_field::kLocation);
    location.add_uint64(location_field::kId, unknown_location());
    pbf_writer line(location, location_field::kLine);
    line.add_uint64(line_field::kFunctionId, unknown_function());
  }

  void write_location(uint32_t index) {
    const profile::Location& place = profile_.locations[index];
    pbf_writer location(message_, profile_field::kLocation);
    location.add_uint64(location_field::kId, uint64_t{index} + 1);
    uint64_t address = place.address;
    ModuleUse* use = nullptr;
    if (place.module != kNone) {
      location.add_uint64(location_field::kMappingId, uint64_t{place.module} + 1);
      address += ranges_[place.module].base;
      use = &modules_[place.module];
      use->used = true;
      use->inlines |= place.line_count > 1;
    }
    if (!profile::is_python(place)) location.add_uint64(location_field::kAddress, address);
    profile::for_each_frame(profile_, index, [&](const profile::Frame& frame) {
      pbf_writer line(location, location_field::kLine);
      if (frame.function == kNone) {
        line.add_uint64(line_field::kFunctionId, unknown_function());
        unknown_used_ = true;
        return;
      }
      used_functions_[frame.function] = true;
      line.add_uint64(line_field::kFunctionId, uint64_t{frame.function} + 1);
      line.add_int64(line_field::kLine, frame.line);
      if (frame.column != 0) line.add_int64(line_field::kColumn, frame.column);
      if (use != nullptr) {
        use->files |= profile_.functions[frame.function].file != 0;
        use->lines |= frame.line != 0;
      }
    });
  }

  void write_functions() {
    for (uint32_t i = 0; i < profile_.functions.size(); ++i) {
      if (!used_functions_[i]) continue;
      const profile::Function& row = profile_.functions[i];
      pbf_writer function(message_, profile_field::kFunction);
      function.add_uint64(function_field::kId, uint64_t{i} + 1);
      function.add_int64(function_field::kName, strings_.handle(row.name));
      function.add_int64(function_field::kFileName, strings_.handle(row.file));
      function.add_int64(function_field::kStartLine, row.line);
    }
    if (!unknown_used_) return;
    pbf_writer function(message_, profile_field::kFunction);
    function.add_uint64(function_field::kId, unknown_function());
    function.add_int64(function_field::kName,
                       strings_.add(profile::function_name(profile_, kNone)));
  }

  // The program itself comes first: pprof shows the first mapping as the profile's "File".
  void write_mappings() {
    uint32_t program = kNone;
    if (!view_.threads.empty()) {
      const uint32_t process = profile_.threads[view_.threads.front()].process;
      for (uint32_t i = 0; i < profile_.modules.size(); ++i) {
        if (modules_[i].used && profile_.modules[i].path == profile_.processes[process].path) {
          program = i;
        }
      }
    }
    if (program != kNone) write_mapping(program);
    for (uint32_t i = 0; i < profile_.modules.size(); ++i) {
      if (modules_[i].used && i != program) write_mapping(i);
    }
  }

  void write_mapping(uint32_t index) {
    pbf_writer mapping(message_, profile_field::kMapping);
    mapping.add_uint64(mapping_field::kId, uint64_t{index} + 1);
    mapping.add_uint64(mapping_field::kMemoryStart, ranges_[index].begin);
    mapping.add_uint64(mapping_field::kMemoryLimit, ranges_[index].end);
    mapping.add_int64(mapping_field::kFileName, strings_.add(profile_.modules[index].path));
    mapping.add_int64(mapping_field::kBuildId,
                      strings_.add(build_id_text(profile_.modules[index].build_id)));
    mapping.add_bool(mapping_field::kHasFunctions, true);
    mapping.add_bool(mapping_field::kHasFileNames, modules_[index].files);
    mapping.add_bool(mapping_field::kHasLineNumbers, modules_[index].lines);
    mapping.add_bool(mapping_field::kHasInlineFrames, modules_[index].inlines);
  }

  const profile::View& view_;
  const StackRows& rows_;
  const SampleLabels& sample_labels_;
  const profile::Profile& profile_;
  GzipWriter gzip_;
  std::string data_;
  pbf_writer message_{data_};
  PprofStrings strings_;
  std::vector<MappingRange> ranges_ = mapping_ranges(profile_);
  std::vector<bool> used_locations_;
  std::vector<bool> used_functions_;
  bool unknown_used_ = false;
  uint32_t labelled_thread_ = kNone, label_ = kNone;  // that have labels_
  std::string labels_, sample_data_;
  std::vector<uint64_t> ids_;
  std::vector<ModuleUse> modules_;
};

}  // namespace

Outcome write_pprof(const profile::View& view, const std::string& path, uint64_t max_size) {
  const profile::Shown shown = view.profile->shown;
  if (shown != profile::Shown::kSamples) {
    const SampleLabels none;
    const bool is_heap = shown == profile::Shown::kHeap;
    return write_stacks(is_heap ? profile::heap_part(view, {}) : view, path, max_size,
                        [&](const StackRows& rows, OutputFile& file) {
                          PprofWriter(view, rows, none, file).write();
                        });
  }
  const SampleLabels labels = sample_labels(view);
  return write_stacks(
      view, path, max_size,
      [&](const StackRows& rows, OutputFile& file) {
        PprofWriter(view, rows, labels, file).write();
      },
      labels.of_samples);
}

}  // namespace sampan::exporters
