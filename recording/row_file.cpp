#include "recording/row_file.h"

#include <algorithm>
#include <utility>

#include "recording/codec.h"
#include "recording/format.h"

namespace sampan::recording {

RowFile::RowFile(const std::string& path, const Session& session, std::span<const Origin> origins,
                 const std::optional<Segment>& segment)
    : file_(path) {
  const FileHeader header{.magic = {'S', 'A', 'M', 'P', 'A', 'N'}, .version = kVersion};
  bytes_.assign(reinterpret_cast<const char*>(&header), sizeof(header));
  encode(session, &payload_);
  append(BlockType::kSession);
  if (segment) {
    payload_.clear();
    encode(*segment, &payload_);
    append(BlockType::kSegment);
  }
  if (!origins.empty()) {
    payload_.clear();
    encode(origins, &payload_);
    append(BlockType::kOrigins);
  }
}

uint32_t RowFile::add(const Process& row, std::optional<uint32_t> id, const Losses& earlier) {
  const auto index = static_cast<uint32_t>(before_.processes + pending_.processes.size());
  pending_.processes.push_back(row);
  if (id) identities_.processes.push_back({index, *id, earlier});
  return index;
}

uint32_t RowFile::add(const Thread& row, std::optional<uint32_t> id) {
  const auto index = static_cast<uint32_t>(before_.threads + pending_.threads.size());
  pending_.threads.push_back(row);
  if (id) identities_.threads.emplace_back(index, *id);
  return index;
}

uint32_t RowFile::add(const Module& row) {
  pending_.modules.push_back(row);
  return static_cast<uint32_t>(before_.modules + pending_.modules.size() - 1);
}

uint32_t RowFile::add(const Frame& row) {
  pending_.frames.push_back(row);
  return static_cast<uint32_t>(before_.frames + pending_.frames.size() - 1);
}

uint32_t RowFile::add(const Stack& row) {
  pending_.stacks.push_back(row);
  return static_cast<uint32_t>(before_.stacks + pending_.stacks.size() - 1);
}

uint32_t RowFile::add(const Lock& row) {
  pending_.locks.push_back(row);
  return static_cast<uint32_t>(before_.locks + pending_.locks.size() - 1);
}

uint32_t RowFile::lost_process() {
  if (lost_process_ == kNone) lost_process_ = add(Process{.name = kLostName});
  return lost_process_;
}

uint32_t RowFile::lost_thread() {
  if (lost_thread_ == kNone)
    lost_thread_ = add(Thread{.process = lost_process(), .name = kLostName});
  return lost_thread_;
}

uint32_t RowFile::lost_lock() {
  if (lost_lock_ == kNone) lost_lock_ = add(Lock{.process = lost_process()});
  return lost_lock_;
}

uint32_t RowFile::wait(const Wait& wait) {
  const auto known = waits_.find(wait.call + '\0' + wait.object);
  if (known != waits_.end()) return known->second;
  const bool full = waits_.size() >= kMaxWaits;
  if (full && !wait.object.empty()) return this->wait({wait.call, ""});
  const auto index = static_cast<uint32_t>(before_.waits + pending_.waits.size());
  waits_.emplace(wait.call + '\0' + wait.object, index);
  pending_.waits.push_back(wait);
  return index;
}

uint32_t RowFile::frame(const Frame& frame, const FrameName* name) {
  const auto next = static_cast<uint32_t>(before_.frames + pending_.frames.size());
  const FrameKey key{frame.module, static_cast<uint32_t>(frame.address),
                     static_cast<uint32_t>(frame.address >> 32)};
  const auto [index, is_new] = frames_.intern(key, next);
  if (is_new) {
    pending_.frames.push_back(frame);
    if (name != nullptr) this->name(index, *name);
  }
  return index;
}

uint32_t RowFile::stack(uint32_t prefix, uint32_t frame) {
  const auto next = static_cast<uint32_t>(before_.stacks + pending_.stacks.size());
  const auto [index, is_new] = stacks_.intern({prefix, frame}, next);
  if (is_new) pending_.stacks.push_back({prefix, frame});
  return index;
}

uint32_t RowFile::stack(std::span<const Frame> frames) {
  return last_stack_.handle(
      frames.rbegin(), frames.rend(), kNone,
      [this](uint32_t callers, const Frame& frame) { return stack(callers, this->frame(frame)); });
}

void RowFile::flush() {
  flush_rows();
  flush_identities();
  flush_rates();
  flush_markers();
  flush_names();
  flush_code_names();
}

void RowFile::flush_rows() {
  if (rows() == 0) return;
  payload_.clear();
  pending_.contexts = contexts_.take();
  encode_rows(pending_, before_, &payload_);
  before_.processes += pending_.processes.size();
  before_.threads += pending_.threads.size();
  before_.modules += pending_.modules.size();
  before_.frames += pending_.frames.size();
  before_.stacks += pending_.stacks.size();
  before_.waits += pending_.waits.size();
  before_.locks += pending_.locks.size();
  samples_ += pending_.samples.size();
  for_each_table(kRowTables, [&](auto table) { (pending_.*table).clear(); });
  append(BlockType::kRows);
}

void RowFile::flush_identities() {
  if (identities_.processes.empty() && identities_.threads.empty()) return;
  payload_.clear();
  encode(std::exchange(identities_, {}), &payload_);
  append(BlockType::kIdentities);
}

void RowFile::flush_rates() {
  if (pending_.rates.changes.empty() && pending_.rates.costs.empty()) return;
  payload_.clear();
  encode(std::exchange(pending_.rates, {}), &payload_);
  append(BlockType::kRates);
}

void RowFile::flush_markers() {
  if (markers_ == 0) return;
  payload_.clear();
  pending_.markers.texts = std::exchange(texts_, {}).take();
  encode_markers(pending_.markers, before_.processes, before_.threads, &payload_);
  for_each_table(kMarkerTables, [&](auto table) { (pending_.markers.*table).clear(); });
  text_bytes_ = 0;
  markers_ = 0;
  append(BlockType::kMarkers);
}

// After the rows of the frames.
void RowFile::flush_names() {
  if (pending_.names.frames.empty()) return;
  payload_.clear();
  pending_.names.texts = std::exchange(name_texts_, {}).take();
  encode_names(std::exchange(pending_.names, {}), &payload_);
  append(BlockType::kNames);
}

void RowFile::flush_code_names() {
  if (code_names_.jit.empty()) return;
  payload_.clear();
  code_names_.texts = std::exchange(code_texts_, {}).take();
  encode_jit_names(std::exchange(code_names_, {}), &payload_);
  append(BlockType::kJitNames);
}

void RowFile::add(JitName row, std::string_view name) {
  row.name = code_texts_.handle(name);
  code_names_.jit.push_back(row);
}

void RowFile::name(uint32_t frame, const FrameName& name) {
  const auto handle = [this](std::string_view text) { return name_texts_.intern(text).handle; };
  handle("");  // the first one
  Names& names = pending_.names;
  const auto function = static_cast<uint32_t>(names.functions.size());
  const uint32_t file = handle(name.file);
  names.functions.push_back({handle(name.function), file, name.first_line, kNone});
  names.lines.push_back({function, file, name.line, name.column});
  names.frames.push_back({frame, 1});
}

// Appends `payload_` as a block; the first one follows the file's header.
void RowFile::append(BlockType type) {
  blocks_.append(type, payload_.bytes(), &bytes_);
  file_.append(std::exchange(bytes_, {}));
}

size_t RowFile::rows() const {
  size_t rows = 0;
  for_each_table(kRowTables, [&](auto table) { rows += (pending_.*table).size(); });
  return rows;
}

void RowFile::finish(const SessionEnd& end) {
  flush();
  payload_.clear();
  encode(end, &payload_);
  append(BlockType::kEnd);
  file_.close();
}

}  // namespace sampan::recording
