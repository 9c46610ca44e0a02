#include "symbolizer/perf_map.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <vector>

namespace sampan::symbolizer {

namespace {

constexpr size_t kChunk = 1 << 20;

// False for what is no such line.
bool parse(std::string_view text, JitCode* code) {
  const auto number = [&text](uint64_t* value) {
    if (text.starts_with("0x")) text.remove_prefix(2);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, 16);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (error != std::errc() || !text.starts_with(' ')) return false;
    text.remove_prefix(1);
    return true;
  };
  uint64_t size = 0;
  if (!number(&code->begin) || !number(&size) || code->begin + size < code->begin) return false;
  code->end = code->begin + size;
  code->name = text;
  return !text.empty();
}

}  // namespace

std::string read_perf_map(FILE* file, const std::function<void(const JitCode&)>& take) {
  uint64_t bytes = 0, wrong = 0;
  const auto take_line = [&](std::string_view text) {
    JitCode code;
    if (parse(text, &code)) {
      take(code);
    } else {
      ++wrong;
    }
  };
  std::string text;  // what of the file has not been taken yet
  std::vector<char> chunk(kChunk);
  while (bytes < kMaxPerfMap) {
    const size_t count = fread(chunk.data(), 1, chunk.size(), file);
    if (count == 0) break;
    bytes += count;
    text.append(chunk.data(), count);
    size_t begin = 0;
    for (size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
      take_line(std::string_view(text).substr(begin, end - begin));
    }
    text.erase(0, begin);
    if (text.size() >= kChunk) {  // no line of a map is so long
      ++wrong;
      text.clear();
    }
  }
  if (!text.empty()) take_line(text);
  std::string problem;
  if (bytes >= kMaxPerfMap) {
    problem = fmt::format("larger than {} MB, the rest was not read", kMaxPerfMap >> 20);
  }
  if (wrong != 0) {
    problem += fmt::format("{}{} lines make no sense", problem.empty() ? "" : "; ", wrong);
  }
  return problem;
}

}  // namespace sampan::symbolizer
