// Folded stacks: "main;parse;read 42" per line, root first, then a count. Written by FlameGraph's stackcollapse programs
// (github.com/brendangregg/FlameGraph), async-profiler's collapsed, py-spy's raw, and `sampan export --format folded`.
//
// The count is of samples, unless the person says how often they were taken. A semicolon in a name cannot be told from one
// between names.
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "importers/formats.h"
#include "importers/recording_builder.h"
#include "importers/text_lines.h"

namespace sampan::importers {
namespace {

struct FoldedLine {
  std::string_view stack;
  uint64_t count;
};

std::optional<FoldedLine> parse_line(std::string_view line) {
  const size_t blank = line.find_last_of(" \t");
  if (blank == std::string_view::npos) return std::nullopt;
  const auto count = number_of<uint64_t>(line.substr(blank + 1));
  const std::string_view stack = trimmed(line.substr(0, blank));
  if (!count || stack.empty()) return std::nullopt;
  return FoldedLine{stack, *count};
}

bool is_ignored(std::string_view line) {
  return trimmed(line).empty() || line.starts_with('#');
}

}  // namespace

bool is_folded(std::string_view bytes) {
  constexpr int kLines = 10;
  int seen = 0;
  while (!bytes.empty() && seen < kLines) {
    const std::string_view line = take_line(&bytes);
    if (is_ignored(line)) continue;
    if (!parse_line(line)) return false;
    ++seen;
  }
  return seen > 0;
}

recording::Recording read_folded(std::string_view bytes, const Options& options) {
  RecordingBuilder builder;
  builder.session().rate_hz = options.rate_hz;
  if (options.rate_hz == 0) builder.session().unit = "samples";
  const uint64_t period = options.rate_hz == 0 ? weight_of(1) : kNsPerSecond / options.rate_hz;
  const uint32_t thread = builder.thread(builder.process(0, "imported"), 0, "all");
  std::vector<uint32_t> frames;
  for (size_t number = 1; !bytes.empty(); ++number) {
    const std::string_view text = take_line(&bytes);
    if (is_ignored(text)) continue;
    const std::optional<FoldedLine> line = parse_line(text);
    if (!line) throw Error("line {} has no count at its end: '{}'", number, text.substr(0, 100));
    frames.clear();
    std::string_view rest = line->stack;
    while (!rest.empty()) {
      const std::string_view name = rest.substr(0, rest.find(';'));
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      if (!name.empty()) {
        frames.insert(frames.begin(), builder.frame(kNone, {.function = std::string(name)}));
      }
    }
    if (line->count > INT64_MAX / period) throw Error("line {}: the count is too large", number);
    builder.samples(thread, builder.stack(frames), line->count, line->count * period);
  }
  return builder.take(0);
}

}  // namespace sampan::importers
