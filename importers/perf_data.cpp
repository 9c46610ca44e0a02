// perf.data, of `perf record`: files, pipes and compressed ones (perf_file.h).
//
// - A file has one or more events, of which one is imported: Options::weight, else the one with the most samples. cpu-clock and
//   task-clock are CPU in ns; other events are counted by their periods.
// - A stack is the kernel's chain of return addresses (by frame pointers, or of the CPU's last branches), or the copy of the
//   stack that `--call-graph dwarf` made, walked here. Chains do not say where they end too early.
// - The kernel's functions have names in recordings of this boot; otherwise "[kernel]" stands for all of them.
// - Records are those of several CPUs one after the other, so they are sorted by time.
#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "importers/formats.h"
#include "importers/kernel_symbols.h"
#include "importers/perf_file.h"
#include "importers/perf_records.h"
#include "importers/perf_stacks.h"
#include "importers/recording_builder.h"
#include "unwind/walker.h"
#include "wire/loss.h"

namespace sampan::importers {
namespace {

constexpr uint64_t kContexts =
    static_cast<uint64_t>(-4095);  // PERF_CONTEXT_MAX: marks from here on
constexpr const char* kKernelModule = "[kernel.kallsyms]";
constexpr uint32_t kLostSamples = 13;  // PERF_RECORD_LOST_SAMPLES

struct ProcessState {
  uint32_t row = kNone;
  std::string name;
  AddressSpace space;
  std::unordered_map<uint64_t, uint32_t> frames = {};  // by AVMA, as long as nothing else is mapped
};

class PerfDataReader {
 public:
  PerfDataReader(const PerfFile& file, const Options& options)
      : file_(file), decoder_(file), walker_(files_) {
    for (const PerfBuildId& id : file.build_ids) build_ids_[id.path] = id.bytes;
    choose_event(options.weight);
  }

  recording::Recording read() {
    recording::Session& session = builder_.session();
    session.host = file_.host;
    session.kernel = file_.kernel;
    session.command = file_.command;
    std::vector<std::pair<uint64_t, const PerfRecord*>> records;
    for (const PerfRecord& record : file_.records)
      records.emplace_back(decoder_.time_of(record), &record);
    std::ranges::stable_sort(records, {}, [](const auto& entry) { return entry.first; });
    // What perf itself writes about processes that ran before has no time.
    const auto first =
        std::ranges::find_if(records, [](const auto& entry) { return entry.first != 0; });
    start_ns_ = first == records.end() ? 0 : first->first;
    for (const auto& [time_ns, record] : records) take(*record, time_ns);
    builder_.lost(wire::Loss::kRingFull, lost_);
    builder_.lost(wire::Loss::kRingCorrupt, unreadable_);
    if (!file_.note.empty()) builder_.note(file_.note);
    return builder_.take(records.empty() ? 0 : session_time(records.back().first));
  }

 private:
  uint64_t session_time(uint64_t time_ns) const {
    return time_ns < start_ns_ ? 0 : time_ns - start_ns_;
  }

  void choose_event(const std::string& weight) {
    std::map<std::string, uint64_t> samples;
    for (const PerfRecord& record : file_.records) {
      if (record.type != PERF_RECORD_SAMPLE) continue;
      if (const auto sample = decoder_.sample(record))
        ++samples[event_name(file_.events[sample->event])];
    }
    if (samples.empty()) throw Error("it has no samples");
    event_ = chosen_event(samples, weight);
    builder_.note_left_out(samples, event_);
    const bool is_time = event_ == "cpu-clock" || event_ == "task-clock";
    if (!is_time) {
      builder_.session().unit = event_;
      scale_ = weight_of(1);
    }
    for (const PerfEvent& event : file_.events) {
      if (event_name(event) != event_) continue;
      const perf_event_attr& attributes = event.attributes;
      const uint64_t hz = attributes.freq ? attributes.sample_freq
                          : attributes.sample_period != 0 && is_time
                              ? kNsPerSecond / attributes.sample_period
                              : 0;
      if (hz > 0 && hz < 1'000'000) builder_.session().rate_hz = static_cast<uint32_t>(hz);
    }
  }

  void take(const PerfRecord& record, uint64_t time_ns) {
    switch (record.type) {
      case PERF_RECORD_MMAP:
      case PERF_RECORD_MMAP2:
        if (auto mapping = decoder_.mapping(record)) add(std::move(*mapping));
        break;
      case PERF_RECORD_COMM:
        if (const auto comm = decoder_.comm(record)) add(*comm);
        break;
      case PERF_RECORD_FORK:
        if (const auto task = decoder_.task(record)) add(*task);
        break;
      case PERF_RECORD_EXIT:
        if (const auto task = decoder_.task(record)) names_.erase(task->tid);
        break;
      case PERF_RECORD_LOST:
      case kLostSamples: lost_ += decoder_.lost(record).value_or(0); break;
      case PERF_RECORD_SAMPLE:
        if (const auto sample = decoder_.sample(record)) {
          add(*sample, time_ns);
        } else {
          ++unreadable_;
        }
        break;
      default: break;
    }
  }

  void add(PerfMapping mapping) {
    if (mapping.pid == -1) {
      const std::string module = kKernelModule;
      // "[kernel.kallsyms]_text", with the address of that symbol as its offset.
      if (mapping.path.starts_with(module)) {
        kernel_symbol_ = mapping.path.substr(module.size());
        kernel_address_ = mapping.offset;
      }
      return;
    }
    if (mapping.build_id.empty()) {
      const auto known = build_ids_.find(mapping.path);
      if (known != build_ids_.end()) mapping.build_id = known->second;
    }
    ProcessState& state = process(mapping.pid);
    state.space.map(std::move(mapping));
    state.space.touch(++generation_);
    state.frames.clear();
  }

  void add(const PerfComm& comm) {
    names_[comm.tid] = comm.name;
    ProcessState& state = process(comm.pid);
    if (comm.is_exec) {
      state.space = {};
      state.space.touch(++generation_);
      state.frames.clear();
    }
    if (comm.pid == comm.tid) {  // a new image, or another name: the row is made when it is needed
      state.name = comm.name;
      state.row = kNone;
    }
  }

  void add(const PerfTask& task) {
    const auto parent = names_.find(task.parent_tid);
    if (parent != names_.end()) names_[task.tid] = std::string(parent->second);
    if (task.pid == task.parent_pid) return;
    const auto from = processes_.find(task.parent_pid);
    ProcessState child;
    if (from != processes_.end()) {
      child.space = from->second.space;
      child.name = from->second.name;
    }
    child.space.touch(++generation_);
    processes_[task.pid] = std::move(child);
    parents_[task.pid] = task.parent_pid;
  }

  ProcessState& process(int32_t pid) { return processes_[pid]; }

  void add(const PerfSample& sample, uint64_t time_ns) {
    if (event_name(file_.events[sample.event]) != event_) return;
    ProcessState& state = process(sample.pid);
    if (state.row == kNone) {
      if (state.name.empty()) state.name = sample.pid == 0 ? "swapper" : "unknown";
      state.row = builder_.process(sample.pid, state.name, parents_[sample.pid]);
    }
    const auto name = names_.find(sample.tid);
    const uint32_t thread =
        builder_.thread(state.row, sample.tid, name != names_.end() ? name->second : state.name);
    frames_.clear();
    const wire::StopReason stop = add_frames(sample, state);
    const uint64_t period = std::max<uint64_t>(sample.period, 1);
    if (period > INT64_MAX / scale_) throw Error("a period of {} is too large", period);
    builder_.sample({.thread = thread,
                     .stack = builder_.stack(frames_),
                     .time_ns = SessionNs::at(session_time(time_ns)),
                     .weight_ns = period * scale_,
                     .stop = frames_.empty() ? wire::StopReason::kNoRule : stop});
  }

  // Leaf first. A chain has marks in front of the kernel's part and of the user's.
  wire::StopReason add_frames(const PerfSample& sample, ProcessState& process) {
    const bool has_copy = sample.has_registers && !sample.stack.empty();
    const bool has_user = has_copy || !sample.branches.empty();
    bool in_kernel = sample.in_kernel, is_leaf = true;
    for (const uint64_t ip : sample.chain) {
      if (ip >= kContexts) {
        in_kernel = ip == static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
        is_leaf = true;
        continue;
      }
      if (in_kernel) {
        add_kernel(is_leaf ? ip : ip - 1);
      } else if (!has_user) {
        add_user(is_leaf ? ip : ip - 1, process);
      }
      is_leaf = false;
    }
    if (sample.chain.empty()) {
      if (sample.in_kernel) {
        add_kernel(sample.ip);
      } else if (!has_user) {
        add_user(sample.ip, process);
      }
    }
    if (has_copy) return walk(sample, process);
    for (size_t i = 0; i < sample.branches.size(); ++i) {  // calls, newest first
      if (i == 0) add_user(sample.branches[i].to, process);
      add_user(sample.branches[i].from, process);
    }
    return wire::StopReason::kRoot;
  }

  wire::StopReason walk(const PerfSample& sample, ProcessState& process) {
    const unwind::WalkResult result = walker_.walk(sample, process.space, walked_);
    for (size_t i = 0; i < result.depth; ++i) add_user(walked_[i], process);
    return result.stop;
  }

  void add_user(uint64_t avma, ProcessState& process) {
    const auto [frame, is_new] = process.frames.try_emplace(avma);
    if (is_new) frame->second = user_frame(avma, process.space);
    frames_.push_back(frame->second);
  }

  uint32_t user_frame(uint64_t avma, const AddressSpace& space) {
    const PerfMapping* const mapping = space.find(avma);
    if (mapping == nullptr || !is_file(mapping->path)) return builder_.frame(kNone, avma);
    const uint64_t svma =
        files_.svma(mapping->path, mapping->build_id, avma - mapping->begin + mapping->offset);
    return builder_.frame(builder_.module(mapping->path, mapping->build_id), svma);
  }

  // Code that was made at run time is in memory of no file.
  static bool is_file(const std::string& path) {
    return path == "[vdso]" || (path.starts_with('/') && !path.starts_with("//anon") &&
                                !path.starts_with("/memfd:") && !path.starts_with("/dev/zero"));
  }

  void add_kernel(uint64_t avma) {
    if (!kernel_) kernel_.emplace(kernel_text(), kernel_symbol_, kernel_address_);
    const auto [frame, is_new] = kernel_frames_.try_emplace(kernel_->empty() ? 0 : avma);
    if (is_new) {
      const NamedPlace place{.function =
                                 kernel_->empty() ? "[kernel]" : std::string(kernel_->name(avma))};
      frame->second = builder_.frame(builder_.module(kKernelModule), frame->first, {&place, 1});
    }
    // Without names, one frame stands for all of them.
    if (kernel_->empty() && !frames_.empty() && frames_.back() == frame->second) return;
    frames_.push_back(frame->second);
  }

  std::string kernel_text() const {
    if (kernel_symbol_.empty()) return "";
    std::ifstream file("/proc/kallsyms");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const PerfFile& file_;
  const PerfDecoder decoder_;
  MappedFiles files_;
  PerfWalker walker_;
  RecordingBuilder builder_;
  std::string event_;
  uint64_t scale_ = 1;
  uint64_t start_ns_ = 0, lost_ = 0, unreadable_ = 0, generation_ = 0;
  std::unordered_map<std::string, std::vector<uint8_t>> build_ids_;  // by path
  std::unordered_map<int32_t, ProcessState> processes_;              // by pid
  std::unordered_map<int32_t, int32_t> parents_;
  std::unordered_map<int32_t, std::string> names_;  // of threads, by tid
  std::string kernel_symbol_;
  uint64_t kernel_address_ = 0;
  std::optional<KernelSymbols> kernel_;
  std::unordered_map<uint64_t, uint32_t> kernel_frames_;  // by AVMA
  std::vector<uint32_t> frames_;
  std::array<uint64_t, wire::kMaxFrames> walked_;
};

}  // namespace

bool is_perf_data(std::string_view bytes) {
  return is_perf_file(bytes);
}

recording::Recording read_perf_data(std::string_view bytes, const Options& options) {
  const PerfFile file = read_perf_file(bytes);
  return PerfDataReader(file, options).read();
}

}  // namespace sampan::importers
