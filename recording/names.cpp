#include "recording/names_codec.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "recording/block.h"
#include "recording/output_file.h"

namespace sampan::recording {

namespace {

// Of at most a few hundred bytes each, with all that is new: far below what a block may hold.
constexpr size_t kFramesPerBlock = 10'000;

// The functions and texts that some frames need.
class Part {
 public:
  explicit Part(const Names& all) : all_(all) {}

  void add(const FrameNames& frame, std::span<const NamedLine> lines) {
    part_.frames.push_back(frame);
    for (const NamedLine& line : lines) {
      part_.lines.push_back({function(line.function), text(line.file), line.line});
    }
  }
  bool is_full() const { return part_.frames.size() >= kFramesPerBlock; }
  Names take() { return std::move(part_); }

 private:
  uint32_t function(uint32_t index) {
    const auto next = static_cast<uint32_t>(part_.functions.size());
    const auto [known, is_new] = functions_.try_emplace(index, next);
    if (is_new) {
      NamedFunction row = all_.functions[index];
      row.name = text(row.name);
      row.file = text(row.file);
      part_.functions.push_back(row);
    }
    return known->second;
  }

  uint32_t text(uint32_t index) {
    if (index == 0) return 0;
    const auto [known, is_new] =
        texts_.try_emplace(index, static_cast<uint32_t>(part_.texts.size()));
    if (is_new) part_.texts.push_back(all_.texts[index]);
    return known->second;
  }

  const Names& all_;
  Names part_;
  std::unordered_map<uint32_t, uint32_t> functions_, texts_;  // by index in all
};

std::vector<Names> in_parts(const Names& names) {
  std::vector<Names> parts;
  std::optional<Part> part(names);
  std::span<const NamedLine> lines = names.lines;
  for (size_t i = 0; i < names.frames.size(); ++i) {
    const FrameNames& frame = names.frames[i];
    part->add(frame, lines.first(frame.line_count));
    lines = lines.subspan(frame.line_count);
    if (!part->is_full() && i + 1 < names.frames.size()) continue;
    parts.push_back(part->take());
    part.emplace(names);
  }
  return parts;
}

// As many rows of Names::jit to a block, with the texts that they need.
std::vector<Names> jit_in_parts(const Names& names) {
  std::vector<Names> parts;
  std::unordered_map<uint32_t, uint32_t> texts;  // of the part, by index in all
  for (JitName row : names.jit) {
    if (parts.empty() || parts.back().jit.size() >= kFramesPerBlock) {
      parts.emplace_back().texts.clear();
      texts.clear();
    }
    Names& part = parts.back();
    const auto [known, is_new] =
        texts.try_emplace(row.name, static_cast<uint32_t>(part.texts.size()));
    if (is_new) part.texts.push_back(names.texts[row.name]);
    row.name = known->second;
    part.jit.push_back(row);
  }
  return parts;
}

uint16_t version_of(const std::string& path) {
  FileHeader header{};
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_read = fd >= 0 && ::read(fd, &header, sizeof header) == sizeof header;
  if (fd >= 0) ::close(fd);
  if (!is_read) throw Error("opening {}: {}", path, fd < 0 ? strerror(errno) : "no recording");
  if (header.version < kNamesVersion || header.version > kVersion) {
    throw Error("{}: recording version {} has no room for names, versions {} to {} have", path,
                header.version, kNamesVersion, kVersion);
  }
  return header.version;
}

}  // namespace

void encode_names(const Names& names, ColumnWriter* out) {
  out->uleb(names.texts.size());
  for (const std::string& text : names.texts) out->string(text);
  out->uleb(names.functions.size());
  for (const NamedFunction& function : names.functions) {
    out->uleb(function.name);
    out->uleb(function.file);
    out->uleb(function.line);
    out->ref(function.module);
  }
  out->uleb(names.frames.size());
  uint64_t before = 0;
  auto line = names.lines.begin();
  for (const FrameNames& frame : names.frames) {
    out->delta(frame.frame, std::exchange(before, frame.frame));
    out->uleb(frame.line_count);
    for (uint32_t i = 0; i < frame.line_count; ++i, ++line) {
      out->uleb(line->function);
      out->uleb(line->file);
      out->uleb(line->line);
    }
  }
}

bool decode_names(std::span<const uint8_t> payload, size_t modules, Names* names) {
  ColumnReader in(payload);
  Names block;
  block.texts.resize(in.count());
  for (std::string& text : block.texts) text = in.string();
  const size_t texts = block.texts.size();
  block.functions.resize(in.count());
  for (NamedFunction& function : block.functions) {
    function.name = in.index(texts);
    function.file = in.index(texts);
    function.line = in.uleb32();
    function.module = in.ref(modules);
  }
  block.frames.resize(in.count());
  uint64_t before = 0;
  for (FrameNames& frame : block.frames) {
    before = in.delta(before);
    if (before > UINT32_MAX) in.fail();
    frame.frame = static_cast<uint32_t>(before);
    frame.line_count = in.count();
    for (uint32_t i = 0; i < frame.line_count; ++i) {
      const uint32_t function = in.index(block.functions.size());
      const uint32_t file = in.index(texts);
      block.lines.push_back({function, file, in.uleb32()});
    }
  }
  if (!in.ok() || !in.at_end()) return false;

  join(std::move(block), names);
  return true;
}

void encode_jit_names(const Names& names, ColumnWriter* out) {
  out->uleb(names.texts.size());
  for (const std::string& text : names.texts) out->string(text);
  out->uleb(names.jit.size());
  uint64_t before = 0;
  for (const JitName& row : names.jit) {
    out->uleb(row.process);
    out->delta(row.frame, std::exchange(before, row.frame));
    out->uleb(row.from_ns);
    out->uleb(row.name);
  }
}

bool decode_jit_names(std::span<const uint8_t> payload, Names* names) {
  ColumnReader in(payload);
  Names block;
  block.texts.resize(in.count());
  for (std::string& text : block.texts) text = in.string();
  block.jit.resize(in.count());
  uint64_t before = 0;
  for (JitName& row : block.jit) {
    row.process = in.uleb32();
    before = in.delta(before);
    if (before > UINT32_MAX) in.fail();
    row.frame = static_cast<uint32_t>(before);
    row.from_ns = in.uleb();
    row.name = in.index(block.texts.size());
  }
  if (!in.ok() || !in.at_end()) return false;
  join(std::move(block), names);
  return true;
}

void append_names(const std::string& path, const Names& names) {
  const uint16_t version = version_of(path);
  BlockEncoder blocks;
  std::string bytes;
  for (const Names& part : in_parts(names)) {
    ColumnWriter payload;
    encode_names(part, &payload);
    blocks.append(BlockType::kNames, payload.bytes(), &bytes);
  }
  for (const Names& part : jit_in_parts(names)) {
    if (version < kJitNamesVersion) break;  // older ones have no block for them
    ColumnWriter payload;
    encode_jit_names(part, &payload);
    blocks.append(BlockType::kJitNames, payload.bytes(), &bytes);
  }
  OutputFile(path, OutputFile::Existing()).append(bytes);
}

}  // namespace sampan::recording
