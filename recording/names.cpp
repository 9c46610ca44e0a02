#include "recording/names.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/interner.h"
#include "recording/block.h"
#include "recording/columns.h"

namespace sampan::recording {
namespace {

// Frames have at most a few hundred bytes each, with their functions and texts: far below the limit
// of a block.
constexpr size_t kFramesPerBlock = 10'000;

// The functions and texts that some frames need.
class Part {
 public:
  explicit Part(const Names& all) : all_(all) {
    texts_.intern(0u);  // ""
  }

  void add(const FrameNames& frame, std::span<const NamedLine> lines) {
    part_.frames.push_back(frame);
    for (const NamedLine& line : lines) {
      part_.lines.push_back({function(line.function), text(line.file), line.line, line.column});
    }
  }
  bool is_full() const { return part_.frames.size() >= kFramesPerBlock; }
  Names take() { return std::move(part_); }

 private:
  uint32_t function(uint32_t index) {
    const auto [known, is_new] = functions_.intern(index);
    if (is_new) {
      NamedFunction row = all_.functions[index];
      row.name = text(row.name);
      row.file = text(row.file);
      part_.functions.push_back(row);
    }
    return known;
  }

  uint32_t text(uint32_t index) {
    const auto [known, is_new] = texts_.intern(index);
    if (is_new) part_.texts.push_back(all_.texts[index]);
    return known;
  }

  const Names& all_;
  Names part_;
  Interner<uint32_t> functions_, texts_;  // indexes in all_
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

// The same for Names::jit.
std::vector<Names> jit_in_parts(const Names& names) {
  std::vector<Names> parts;
  Interner<uint32_t> texts;  // of the part: indexes in all
  for (JitName row : names.jit) {
    if (parts.empty() || parts.back().jit.size() >= kFramesPerBlock) {
      parts.emplace_back().texts.clear();
      texts.take();
    }
    Names& part = parts.back();
    const auto [known, is_new] = texts.intern(row.name);
    if (is_new) part.texts.push_back(names.texts[row.name]);
    row.name = known;
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

Names renumbered(Names names, std::span<const uint32_t> frames, std::span<const uint32_t> modules) {
  for (NamedFunction& function : names.functions) {
    if (function.module != kNone) function.module = modules[function.module];
  }
  const std::vector<FrameNames> all = std::exchange(names.frames, {});
  std::span<const NamedLine> lines = names.lines;
  std::vector<NamedLine> kept;
  for (const FrameNames& frame : all) {
    const uint32_t there = frame.frame < frames.size() ? frames[frame.frame] : kNone;
    if (there != kNone) {
      names.frames.push_back({there, frame.line_count});
      kept.insert(kept.end(), lines.begin(), lines.begin() + frame.line_count);
    }
    lines = lines.subspan(frame.line_count);
  }
  names.lines = std::move(kept);
  std::vector<JitName> jit;
  for (JitName row : names.jit) {
    row.frame = row.frame < frames.size() ? frames[row.frame] : kNone;
    if (row.frame != kNone) jit.push_back(row);
  }
  names.jit = std::move(jit);
  return names;
}

Names needed(const Names& names) {
  Part part(names);
  std::span<const NamedLine> lines = names.lines;
  for (const FrameNames& frame : names.frames) {
    part.add(frame, lines.first(frame.line_count));
    lines = lines.subspan(frame.line_count);
  }
  return part.take();
}

void add_name(uint32_t frame, const FrameName& name, Names* names) {
  const auto text = [names](const std::string& its) {
    names->texts.push_back(its);
    return static_cast<uint32_t>(names->texts.size() - 1);
  };
  const auto function = static_cast<uint32_t>(names->functions.size());
  const uint32_t file = name.file.empty() ? 0 : text(name.file);
  names->functions.push_back({text(name.function), file, name.first_line, kNone});
  names->lines.push_back({function, file, name.line, name.column});
  names->frames.push_back({frame, 1});
}

void join(Names more, Names* names) {
  const auto texts = static_cast<uint32_t>(names->texts.size());
  const auto functions = static_cast<uint32_t>(names->functions.size());
  for (std::string& text : more.texts) names->texts.push_back(std::move(text));
  for (NamedFunction function : more.functions) {
    function.name += texts;
    function.file += texts;
    names->functions.push_back(function);
  }
  for (const NamedLine& line : more.lines) {
    names->lines.push_back({line.function + functions, line.file + texts, line.line, line.column});
  }
  names->frames.insert(names->frames.end(), more.frames.begin(), more.frames.end());
  for (JitName row : more.jit) {
    row.name += texts;
    names->jit.push_back(row);
  }
}

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
  const auto has_column = [](const NamedLine& named) { return named.column != 0; };
  if (std::ranges::none_of(names.lines, has_column)) return;
  for (const NamedLine& named : names.lines) out->uleb(named.column);
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
  if (!in.at_end()) {
    for (NamedLine& line : block.lines) line.column = in.uleb32();
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
    row.from_ns = in.time();
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
  for (Names& part : in_parts(names)) {
    if (version < kNameColumnsVersion) {
      for (NamedLine& line : part.lines) line.column = 0;
    }
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
