#include "recording/writer.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recording/block.h"
#include "recording/format.h"
#include "recording/intern_table.h"
#include "recording/output_file.h"
#include "recording/reader.h"
#include "recording/rows.h"
#include "recording/session_codec.h"

namespace sampan::recording {
namespace {

constexpr uint64_t kFlushInterval = 1'000'000'000;  // ns
constexpr size_t kMaxPendingRows = 1 << 17;
constexpr size_t kMaxStacks = size_t{1} << 22;  // 48 MB of them are remembered
constexpr size_t kMaxFrames = size_t{1} << 20;  // 16 MB
constexpr size_t kMaxWaits = 1 << 16;           // then without their objects

struct StackKey {
  uint32_t prefix, frame;
  bool operator==(const StackKey&) const = default;
  uint64_t hash() const { return mix_bits(uint64_t{prefix} << 32 | frame); }
};

struct FrameKey {
  uint32_t module, address_low, address_high;  // 4-byte aligned: 16 bytes per entry
  bool operator==(const FrameKey&) const = default;
  uint64_t hash() const {
    return mix_bits((uint64_t{address_high} << 32 | address_low) ^ uint64_t{module} << 40);
  }
};

FrameKey key_of(const Frame& frame) {
  return {frame.module, static_cast<uint32_t>(frame.address),
          static_cast<uint32_t>(frame.address >> 32)};
}

}  // namespace

struct Writer::State {
  explicit State(const std::string& path) : file(path) {}

  void flush() {
    if (rows() == 0) return;
    payload.clear();
    encode_rows(pending, before, &payload);
    before.processes += pending.processes.size();
    before.threads += pending.threads.size();
    before.modules += pending.modules.size();
    before.frames += pending.frames.size();
    before.stacks += pending.stacks.size();
    before.waits += pending.waits.size();
    samples += pending.samples.size();
    clear();
    append(BlockType::kRows);
  }

  // Appends `payload` as a block, with the file's header in front of the first one.
  void append(BlockType type) {
    blocks.append(type, payload.bytes(), &bytes);
    file.append(std::exchange(bytes, {}));
  }

  size_t rows() const {
    return pending.processes.size() + pending.process_ends.size() + pending.threads.size() +
           pending.thread_names.size() + pending.thread_ends.size() + pending.modules.size() +
           pending.frames.size() + pending.stacks.size() + pending.waits.size() +
           pending.samples.size() + pending.losses.size();
  }

  void clear() {
    pending.processes.clear();
    pending.process_ends.clear();
    pending.threads.clear();
    pending.thread_names.clear();
    pending.thread_ends.clear();
    pending.modules.clear();
    pending.frames.clear();
    pending.stacks.clear();
    pending.waits.clear();
    pending.samples.clear();
    pending.losses.clear();
  }

  OutputFile file;
  BlockEncoder blocks;
  ColumnWriter payload;
  std::string bytes;
  Recording pending;     // new rows
  RowCounts before;      // rows that are written
  uint64_t samples = 0;  // written
  uint64_t last_flush_ns = 0;
  std::unordered_map<std::string, uint32_t> modules;  // by path and build-id
  std::unordered_map<std::string, uint32_t> waits;    // by call and object
  struct Remainders {
    uint64_t cpu_ns = 0, waiting_ns = 0;  // of weights, less than a microsecond
  };
  std::vector<Remainders> remainders;  // by thread
  InternTable<FrameKey> frames{kMaxFrames};
  InternTable<StackKey> stacks{kMaxStacks};
  // The stack that was looked up last, root first: the next one mostly shares its root side.
  std::vector<Frame> last_frames;
  std::vector<uint32_t> last_stacks;
};

Writer::Writer(const std::string& path, const Session& session, std::span<const Origin> origins)
    : state_(std::make_unique<State>(path)) {
  const FileHeader header{.magic = {'S', 'A', 'M', 'P', 'A', 'N'}, .version = kVersion};
  state_->bytes.assign(reinterpret_cast<const char*>(&header), sizeof(header));
  encode(session, &state_->payload);
  state_->append(BlockType::kSession);
  if (origins.empty()) return;
  state_->payload.clear();
  encode(origins, &state_->payload);
  state_->append(BlockType::kOrigins);
}

Writer::~Writer() {
  try {
    flush();
  } catch (...) {
    // Nobody is left to hear it; what was flushed before is in the file.
  }
}

uint32_t Writer::add(const Process& process) {
  state_->pending.processes.push_back(process);
  return static_cast<uint32_t>(state_->before.processes + state_->pending.processes.size() - 1);
}

uint32_t Writer::add(const Thread& thread) {
  state_->pending.threads.push_back(thread);
  return static_cast<uint32_t>(state_->before.threads + state_->pending.threads.size() - 1);
}

uint32_t Writer::add(const Module& module) {
  std::string key = module.path + '\0';
  key.append(module.build_id.begin(), module.build_id.end());
  const auto next = static_cast<uint32_t>(state_->before.modules + state_->pending.modules.size());
  const auto [place, is_new] = state_->modules.try_emplace(std::move(key), next);
  if (is_new) state_->pending.modules.push_back(module);
  return place->second;
}

void Writer::add(const ThreadName& name) {
  state_->pending.thread_names.push_back(name);
}
void Writer::add(const ThreadEnd& end) {
  state_->pending.thread_ends.push_back(end);
}
void Writer::add(const ProcessEnd& end) {
  state_->pending.process_ends.push_back(end);
}
void Writer::add(const Losses& losses) {
  state_->pending.losses.push_back(losses);
}
void Writer::add(const Sample& sample) {
  auto& remainders = state_->remainders;
  if (sample.thread >= remainders.size()) remainders.resize(sample.thread + 1);
  uint64_t& remainder = sample.wait == kNone ? remainders[sample.thread].cpu_ns
                                             : remainders[sample.thread].waiting_ns;
  const uint64_t weight_ns = sample.weight_ns + remainder;
  remainder = weight_ns % kWeightUnit;
  Sample& row = state_->pending.samples.emplace_back(sample);
  row.time_ns -= row.time_ns % kTimeUnit;
  row.weight_ns = weight_ns - remainder;
}

uint32_t Writer::wait(const Wait& wait) {
  const auto known = state_->waits.find(wait.call + '\0' + wait.object);
  if (known != state_->waits.end()) return known->second;
  const bool full = state_->waits.size() >= kMaxWaits;
  if (full && !wait.object.empty()) return this->wait({wait.call, ""});
  const auto index = static_cast<uint32_t>(state_->before.waits + state_->pending.waits.size());
  state_->waits.emplace(wait.call + '\0' + wait.object, index);
  state_->pending.waits.push_back(wait);
  return index;
}

uint32_t Writer::frame(const Frame& frame) {
  bool is_new;
  const auto next = static_cast<uint32_t>(state_->before.frames + state_->pending.frames.size());
  const uint32_t index = state_->frames.intern(key_of(frame), next, &is_new);
  if (is_new) state_->pending.frames.push_back(frame);
  return index;
}

uint32_t Writer::stack(uint32_t prefix, uint32_t frame) {
  bool is_new;
  const auto next = static_cast<uint32_t>(state_->before.stacks + state_->pending.stacks.size());
  const uint32_t index = state_->stacks.intern({prefix, frame}, next, &is_new);
  if (is_new) state_->pending.stacks.push_back({prefix, frame});
  return index;
}

uint32_t Writer::stack(std::span<const Frame> frames) {
  std::vector<Frame>& last = state_->last_frames;
  std::vector<uint32_t>& stacks = state_->last_stacks;
  const auto shared = static_cast<size_t>(
      std::mismatch(last.begin(), last.end(), frames.rbegin(), frames.rend()).first - last.begin());
  last.assign(frames.rbegin(), frames.rend());
  stacks.resize(shared);
  uint32_t at = shared == 0 ? kNone : stacks.back();
  for (size_t i = shared; i < last.size(); ++i) {
    at = stack(at, frame(last[i]));
    stacks.push_back(at);
  }
  return at;
}

void Writer::tick(uint64_t now_ns) {
  if (now_ns - state_->last_flush_ns < kFlushInterval && state_->rows() < kMaxPendingRows) return;
  state_->last_flush_ns = now_ns;
  state_->flush();
}

void Writer::flush() {
  state_->flush();
}

void Writer::finish(const SessionEnd& end) {
  state_->flush();
  state_->payload.clear();
  encode(end, &state_->payload);
  state_->append(BlockType::kEnd);
  state_->file.close();
}

uint64_t Writer::samples() const {
  return state_->samples + state_->pending.samples.size();
}

const std::string& Writer::path() const {
  return state_->file.path();
}

}  // namespace sampan::recording
