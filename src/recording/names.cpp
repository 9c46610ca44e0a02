#include "recording/names.h"

#include <utility>

namespace sampan::recording {

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
    names->lines.push_back({line.function + functions, line.file + texts, line.line});
  }
  names->frames.insert(names->frames.end(), more.frames.begin(), more.frames.end());
  for (JitName row : more.jit) {
    row.name += texts;
    names->jit.push_back(row);
  }
}

}  // namespace sampan::recording
