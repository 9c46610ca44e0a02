#include "reports/gate/baseline.h"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/text/json_writer.h"

namespace sampan::reports {
namespace {

using rapidjson::Value;

constexpr int kVersion = 1;
constexpr double kLargestCount = 1e6;

// On one line, without the line feed.
template <typename Members>
std::string line_of(Members&& members) {
  Json json;
  json.object([&] { members(json); });
  std::string text = json.text();
  std::erase(text, '\n');
  return text;
}

std::string series_line(const Quantity& quantity, const Series& series) {
  return line_of([&](Json& json) {
    json.member("figure", key_of(quantity));
    json.member("mean", series.mean);
    json.member("variance", series.variance);
    json.member("runs", series.runs);
  });
}

class ObjectReader {
 public:
  ObjectReader(const Value& object, const std::string& path) : object_(object), path_(path) {
    if (!object.IsObject()) fail("an object is wanted");
  }

  std::string text(const char* key) const {
    const Value& value = member(key);
    if (!value.IsString()) fail(fmt::format("{}: a text is wanted", key));
    return {value.GetString(), value.GetStringLength()};
  }
  // From 0 on, and finite.
  double number(const char* key, double most) const {
    const Value& value = member(key);
    if (!value.IsNumber() || !(value.GetDouble() >= 0 && value.GetDouble() <= most)) {
      fail(fmt::format("{}: a number from 0 on is wanted", key));
    }
    return value.GetDouble();
  }
  const Value& array(const char* key) const {
    const Value& value = member(key);
    if (!value.IsArray()) fail(fmt::format("{}: an array is wanted", key));
    return value;
  }
  ObjectReader object(const char* key) const { return {member(key), path_}; }

  [[noreturn]] void fail(std::string_view what) const {
    throw Error("{}: this is no baseline of sampan ci: {}", path_, what);
  }

 private:
  const Value& member(const char* key) const {
    const auto found = object_.FindMember(key);
    if (found == object_.MemberEnd()) fail(fmt::format("{} is missing", key));
    return found->value;
  }

  const Value& object_;
  const std::string& path_;
};

}  // namespace

std::string baseline_text(const Baseline& baseline) {
  const Environment& where = baseline.environment;
  std::string text = fmt::format("{{\"sampan_baseline\": {},\n\"command\": ", kVersion);
  Json command;
  command.value(baseline.command);
  std::string words = command.text();
  std::erase(words, '\n');
  text += words + ",\n\"environment\": " + line_of([&](Json& json) {
            json.member("processor", where.processor);
            json.member("cpus", where.cpus);
            json.member("kernel", where.kernel);
            json.member("governor", where.governor);
            json.member("load", where.load);
            json.member("stolen", where.stolen);
          }) +
          ",\n\"figures\": [";
  std::vector<std::pair<Quantity, Series>> rows(baseline.series.begin(), baseline.series.end());
  std::ranges::stable_sort(rows, std::ranges::greater(), [](const auto& row) {
    // Functions are the many: those with the least time are left out first.
    return row.first.subject == Subject::kFunction ? row.second.mean : HUGE_VAL;
  });
  constexpr size_t kEnd = 4;  // "\n]}\n"
  std::string lines;
  for (const auto& [quantity, series] : rows) {
    const std::string line = (lines.empty() ? "\n" : ",\n") + series_line(quantity, series);
    if (text.size() + lines.size() + line.size() + kEnd > kLargestBaseline) break;
    lines += line;
  }
  return text + lines + "\n]}\n";
}

Baseline parse_baseline(const std::string& text, const std::string& path) {
  rapidjson::Document document;
  // Not recursive: the depth of a file is not limited.
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(
      text.data(), text.size());
  if (document.HasParseError()) throw Error("{}: this is no JSON", path);
  const ObjectReader file(document, path);
  if (file.number("sampan_baseline", kLargestCount) != kVersion)
    file.fail("it is of another version");
  Baseline baseline;
  for (const Value& word : file.array("command").GetArray()) {
    if (!word.IsString()) file.fail("command: texts are wanted");
    baseline.command.emplace_back(word.GetString(), word.GetStringLength());
  }
  const ObjectReader where = file.object("environment");
  baseline.environment = {.processor = where.text("processor"),
                          .cpus = static_cast<unsigned>(where.number("cpus", kLargestCount)),
                          .kernel = where.text("kernel"),
                          .governor = where.text("governor"),
                          .load = where.number("load", kLargestCount),
                          .stolen = where.number("stolen", 1)};
  for (const Value& row : file.array("figures").GetArray()) {
    const ObjectReader figure(row, path);
    const std::optional<Quantity> quantity = quantity_of(figure.text("figure"));
    if (!quantity) figure.fail(fmt::format("unknown figure {}", figure.text("figure")));
    baseline.series[*quantity] = {figure.number("mean", HUGE_VAL),
                                  figure.number("variance", HUGE_VAL),
                                  static_cast<uint64_t>(figure.number("runs", kLargestCount))};
  }
  return baseline;
}

}  // namespace sampan::reports
