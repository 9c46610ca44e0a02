#include "importers/recording_builder.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/readable.h"
#include "profile/unit.h"
#include "wire/record.h"

namespace sampan::importers {
namespace {

// In one file. With more, no share would be more certain than to a per mille.
constexpr uint64_t kMostSamples = 1'000'000;

// The words in the files may be anything, but no code is where a recording has Python functions.
uint64_t code_address(uint64_t address) {
  return wire::is_python_frame(address) ? 0 : address;
}

}  // namespace

uint64_t weight_of(uint64_t count) {
  if (count > INT64_MAX / profile::kWeightOfOne) throw Error("the count {} is too large", count);
  return count * profile::kWeightOfOne;
}

uint32_t RecordingBuilder::process(int32_t pid, const std::string& name, int32_t parent_pid) {
  const auto row = static_cast<uint32_t>(recording_.processes.size());
  const auto [found, is_new] = processes_.try_emplace({pid, name}, row);
  if (is_new) recording_.processes.push_back({.pid = pid, .parent_pid = parent_pid, .name = name});
  return found->second;
}

uint32_t RecordingBuilder::thread(uint32_t process, int32_t tid, const std::string& name) {
  const auto row = static_cast<uint32_t>(recording_.threads.size());
  const auto [found, is_new] = threads_.try_emplace({process, tid, tid == 0 ? name : ""}, row);
  if (is_new) recording_.threads.push_back({.process = process, .tid = tid, .name = name});
  if (recording_.threads[found->second].name != name) recording_.threads[found->second].name = name;
  return found->second;
}

uint32_t RecordingBuilder::module(const std::string& path, const std::vector<uint8_t>& build_id) {
  return modules_.intern(recording::Module{.path = path, .build_id = build_id}).handle;
}

uint32_t RecordingBuilder::frame(uint32_t module, uint64_t address) {
  return frames_.intern(recording::Frame{module, code_address(address)}).handle;
}

uint32_t RecordingBuilder::frame(uint32_t module, uint64_t address,
                                 std::span<const NamedPlace> places) {
  address = code_address(address);
  std::vector<uint64_t> key = {module, address};
  std::vector<recording::NamedLine> lines;
  for (const NamedPlace& place : places) {
    const uint32_t file = text(place.file);
    const uint32_t function =
        functions_.intern(std::tuple(text(place.function), file, place.first_line, module)).handle;
    lines.push_back({function, file, place.line, place.column});
    key.insert(key.end(), {function, uint64_t{place.line} << 32 | place.column});
  }
  const auto [found, is_new] = named_frames_.try_emplace(std::move(key), 0);
  if (!is_new) return found->second;
  Interned frame =
      frames_.intern(recording::Frame{module, address != 0 ? address : ++own_address_});
  // Another name of the same address: it was other code before.
  while (!frame.is_new) frame = frames_.intern(recording::Frame{module, ++own_address_});
  recording_.names.frames.push_back({frame.handle, static_cast<uint32_t>(lines.size())});
  recording_.names.lines.insert(recording_.names.lines.end(), lines.begin(), lines.end());
  return found->second = frame.handle;
}

uint32_t RecordingBuilder::stack(std::span<const uint32_t> frames) {
  return last_stack_.handle(frames.rbegin(), frames.rend(), kNone,
                            [this](uint32_t callers, uint32_t frame) {
                              return stacks_.intern(recording::Stack{callers, frame}).handle;
                            });
}

uint32_t RecordingBuilder::wait(const std::string& call) {
  return waits_.intern(recording::Wait{.call = call, .object = {}}).handle;
}

void RecordingBuilder::sample(uint32_t thread, uint32_t stack, SessionNs time_ns, uint64_t weight,
                              uint32_t wait) {
  const bool is_known = stack != kNone || wait != kNone;
  sample({.thread = thread,
          .stack = stack,
          .time_ns = time_ns,
          .weight_ns = weight,
          .stop = is_known ? wire::StopReason::kRoot : wire::StopReason::kNoRule,
          .wait = wait});
}

void RecordingBuilder::lost(wire::Loss loss, uint64_t count) {
  if (recording_.losses.empty()) recording_.losses.emplace_back();
  recording_.losses.front().count[static_cast<size_t>(loss)] += count;
}

void RecordingBuilder::samples(uint32_t thread, uint32_t stack, uint64_t count, uint64_t weight) {
  if (count == 0) return;
  const uint64_t left = kMostSamples - std::min(kMostSamples - 1, all_samples_);
  const uint64_t rows = std::min(count, left);
  all_samples_ += rows;
  for (uint64_t row = 0; row < rows; ++row) {
    sample(thread, stack, 0, weight / rows + (row < weight % rows ? 1 : 0));
  }
}

void RecordingBuilder::note(const std::string& text) {
  note_ += (note_.empty() ? "" : "; ") + text;
}

void RecordingBuilder::note_left_out(const std::map<std::string, uint64_t>& samples,
                                     const std::string& event) {
  for (const auto& [name, count] : samples) {
    if (name != event) {
      note(fmt::format("{} of the event {} left out: --weight {} imports them",
                       plural(count, "sample"), name, name));
    }
  }
}

recording::Recording RecordingBuilder::take(uint64_t duration_ns) {
  recording::Recording taken = std::move(recording_);
  taken.modules = modules_.take();
  taken.frames = frames_.take();
  taken.stacks = stacks_.take();
  taken.waits = waits_.take();
  taken.names.texts = texts_.take();
  for (const auto& [name, file, line, module] : functions_.keys()) {
    taken.names.functions.push_back({name, file, line, module});
  }
  std::ranges::stable_sort(taken.samples, {},
                           [](const auto& row) { return uint64_t{row.time_ns}; });
  const uint64_t last_ns = taken.samples.empty() ? 0 : uint64_t{taken.samples.back().time_ns};
  taken.end.emplace().time_ns = SessionNs::at(std::max(duration_ns, last_ns));
  taken.end->note = note_;
  return taken;
}

}  // namespace sampan::importers
