#include "reports/annotate.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/text/json_writer.h"
#include "base/text/readable.h"
#include "profile/frames.h"
#include "profile/unit.h"
#include "reports/table.h"

namespace sampan::reports {
namespace {

using profile::Annotation;
using profile::FlatRow;
using profile::Profile;
using profile::Weight;

constexpr double kHotShare = 0.1;     // of what lines are shares of: those that are marked
constexpr uint32_t kContext = 2;      // lines, or instructions, around those with samples
constexpr uint32_t kDeclaration = 8;  // lines from a function's first to one with samples, at most

class Page {
 public:
  Page(const Annotated& annotated, const PageOptions& options)
      : annotated_(annotated),
        annotation_(annotated.annotation),
        profile_(*annotated.view.profile),
        options_(options),
        style_(options.colour),
        share_ns_(static_cast<double>(annotation_.is_python ? annotation_.function.total.ns
                                                            : annotation_.function.self.ns)),
        unit_(profile_.session, annotation_.all.ns) {
    if (!annotated.code) return;
    share_ns_ = 0;  // instructions include code that is inlined into the function
    for (const CodeRow& row : *annotated.code) share_ns_ += static_cast<double>(row.self.ns);
  }

  std::string text() {
    heading();
    if (annotated_.code) {
      code(*annotated_.code);
    } else {
      for (const Source& source : annotated_.sources) source_lines(source);
    }
    return std::move(text_);
  }

 private:
  void heading() {
    const FlatRow& row = annotation_.function;
    text_ += style_.heading(printable(function_name(profile_, row.function))) + "\n";
    const std::string file = printable(profile_.strings[row.file]);
    const std::string module = printable(module_name(profile_, row.module));
    if (!file.empty()) item("defined", fmt::format("{}:{}", file, row.line));
    item("module", module);
    const auto all = static_cast<double>(annotation_.all.ns);
    item("self", fmt::format("{}, {} % of all, {}{}", unit_.amount(row.self.ns),
                             percent(static_cast<double>(row.self.ns), all),
                             plural(row.self.samples, "sample"),
                             annotation_.is_python ? ", with the C code that it calls" : ""));
    item("total", fmt::format("{}, {} % of all, {}", unit_.amount(row.total.ns),
                              percent(static_cast<double>(row.total.ns), all),
                              plural(row.total.samples, "sample")));
    if (!annotation_.others.empty()) {
      item("also", fmt::format("{} more with this name: give it in full",
                               plural(annotation_.others.size(), "function")));
    }
    for (const std::string& note : annotated_.notes) item("note", printable(note), true);
  }

  void item(std::string_view name, std::string_view text, bool warning = false) {
    constexpr size_t kIndent = 12;
    bool first = true;
    for (const std::string& line : wrap(text, options_.text_width() - kIndent)) {
      text_ +=
          fmt::format("  {:<9} {}\n", first ? name : "", warning ? style_.warning(line) : line);
      first = false;
    }
  }

  // Python has the columns of line_profiler: a line's hits and time include all that it calls. Its
  // hits are samples. The last column is without the Python functions that it calls.
  void columns(std::string_view last) {
    const bool python = annotation_.is_python;
    text_ +=
        style_.faint(fmt::format("  {:>7} {:>7} {:>5} {:>7}  {}", python ? "hits" : "samples",
                                 python ? "time" : "self", "%", python ? "self" : "total", last)) +
        "\n";
  }

  // Hot lines are marked by ">", and emphasized if there is colour.
  void row(const Weight& self, const Weight& total, std::string_view rest) {
    const Weight& first = annotation_.is_python ? total : self;
    const Weight& last = annotation_.is_python ? self : total;
    const auto first_ns = static_cast<double>(first.ns);
    const bool is_hot = share_ns_ > 0 && first_ns >= kHotShare * share_ns_;
    std::string figures(30, ' ');
    if (total.samples != 0) {
      figures = fmt::format("{} {:>7} {:>7} {:>5} {:>7}", is_hot ? '>' : ' ', count(first.samples),
                            first.ns != 0 ? unit_.text(first.ns) : "",
                            first.ns != 0 ? percent(first_ns, share_ns_) : "",
                            last.ns != 0 || !annotation_.is_python ? unit_.text(last.ns) : "");
    }
    std::string line = cut_end(fmt::format("{}  {}", figures, rest), options_.width);
    line.erase(line.find_last_not_of(' ') + 1);
    text_ += (is_hot ? style_.strong(line) : line) + "\n";
  }

  void source_lines(const Source& source) {
    std::map<uint32_t, const FlatRow*> sampled;
    for (const FlatRow& row : annotation_.lines) {
      if (row.file == source.file) sampled[row.line] = &row;
    }
    const std::string path = printable(profile_.strings[source.file]);
    text_ += "\n" + style_.heading(path.empty() ? "lines that are not known" : path) + "\n";
    columns("line");
    uint32_t last = 0;
    for (const uint32_t number : shown_lines(source, sampled)) {
      if (last != 0 && number > last + 1) text_ += std::string(32, ' ') + "…\n";
      last = number;
      const auto found = sampled.find(number);
      const bool has_text = number > 0 && number <= source.lines.size();
      const std::string rest =
          fmt::format("{:>5}  {}", number, has_text ? expanded(source.lines[number - 1]) : "");
      found == sampled.end() ? row({}, {}, rest)
                             : row(found->second->self, found->second->total, rest);
    }
  }

  // Lines with samples, and the lines around them if the source is available.
  std::vector<uint32_t> shown_lines(const Source& source,
                                    const std::map<uint32_t, const FlatRow*>& sampled) const {
    std::vector<uint32_t> numbers;
    const auto add = [&](uint32_t from, uint32_t to) {
      for (uint32_t i = std::max(from, 1u); i <= to && i <= source.lines.size(); ++i) {
        numbers.push_back(i);
      }
    };
    for (const auto& [number, row] : sampled) {
      numbers.push_back(number);
      if (number != 0) add(number - std::min(number, kContext), number + kContext);
    }
    const FlatRow& function = annotation_.function;
    const bool defined_here = function.file == source.file && function.line != 0;
    if (defined_here && sampled.lower_bound(function.line) != sampled.end()) {
      const uint32_t first = sampled.lower_bound(function.line)->first;
      add(function.line, std::min(first, function.line + kDeclaration));
    }
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
  }

  static std::string expanded(const std::string& line) {
    std::string text;
    for (const char c : line) {
      if (c == '\t') {
        text.append(8 - text.size() % 8, ' ');
      } else {
        text += c;
      }
    }
    return printable(text);
  }

  void code(const std::vector<CodeRow>& rows) {
    std::vector<bool> shown(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].total.samples == 0) continue;
      const size_t end = std::min(rows.size(), i + 1 + 2 * kContext);
      for (size_t j = i - std::min<size_t>(i, 2 * kContext); j < end; ++j) shown[j] = true;
    }
    text_ += "\n";
    columns("address    instruction");
    std::pair<uint32_t, uint32_t> place = {0, 0};
    bool gap = false;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (!shown[i]) {
        gap = true;
        continue;
      }
      if (gap && i > 0) text_ += std::string(32, ' ') + "…\n";
      gap = false;
      if (std::pair(rows[i].file, rows[i].line) != place && rows[i].line != 0) {
        place = {rows[i].file, rows[i].line};
        text_ +=
            style_.faint(cut_end(std::string(32, ' ') + source_text(rows[i]), options_.width)) +
            "\n";
      }
      row(rows[i].self, rows[i].total, fmt::format("{:>9x}  {}", rows[i].address, rows[i].text));
    }
  }

  // "shares.cpp:24: x = ten_percent(x);"
  std::string source_text(const CodeRow& row) const {
    std::string text =
        fmt::format("{}:{}:", printable(file_name(profile_.strings[row.file])), row.line);
    for (const Source& source : annotated_.sources) {
      if (source.file != row.file || row.line > source.lines.size()) continue;
      const std::string line = expanded(source.lines[row.line - 1]);
      text += " " + line.substr(std::min(line.find_first_not_of(' '), line.size()));
    }
    return text;
  }

  const Annotated& annotated_;
  const Annotation& annotation_;
  const Profile& profile_;
  const PageOptions& options_;
  Style style_;
  double share_ns_;  // what lines are shares of
  const profile::Unit unit_;
  std::string text_;
};

}  // namespace

std::string annotation_page(const Annotated& annotated, const PageOptions& options) {
  return Page(annotated, options).text();
}

namespace {

void write_weights(Json& json, const profile::Unit& unit, const Weight& self, const Weight& total) {
  json.member(unit.key("self"), unit.value(self.ns));
  json.member(unit.key("total"), unit.value(total.ns));
  json.member("self_samples", self.samples);
  json.member("total_samples", total.samples);
}

std::string_view module_path(const Profile& profile, uint32_t module) {
  return module != profile::kNone ? std::string_view(profile.modules[module].path) : "";
}

void write_function(Json& json, const Profile& profile, const profile::Unit& unit,
                    const FlatRow& row) {
  json.member("name", function_name(profile, row.function));
  json.member("module", function_module_path(profile, row.function));
  json.member("file", profile.strings[row.file]);
  json.member("line", row.line);
  write_weights(json, unit, row.self, row.total);
}

void write_lines(Json& json, const Annotated& annotated, const profile::Unit& unit) {
  const Profile& profile = *annotated.view.profile;
  json.objects("files", annotated.sources, [&](const Source& source) {
    json.member("file", profile.strings[source.file]);
    json.member("found", source.path.empty() ? std::nullopt : std::optional(source.path));
    std::vector<FlatRow> rows;
    for (const FlatRow& row : annotated.annotation.lines) {
      if (row.file == source.file) rows.push_back(row);
    }
    json.objects("lines", rows, [&](const FlatRow& row) {
      const bool has_text = row.line > 0 && row.line <= source.lines.size();
      json.member("line", row.line);
      json.member("text", has_text ? std::optional(source.lines[row.line - 1]) : std::nullopt);
      write_weights(json, unit, row.self, row.total);
    });
  });
}

void write_code(Json& json, const Annotated& annotated, const profile::Unit& unit) {
  const Profile& profile = *annotated.view.profile;
  json.objects("instructions", *annotated.code, [&](const CodeRow& row) {
    json.member("module", module_path(profile, row.module));
    json.member("address", fmt::format("0x{:x}", row.address));
    json.member("text", row.text);
    json.member("file", profile.strings[row.file]);
    json.member("line", row.line);
    write_weights(json, unit, row.self, row.total);
  });
}

}  // namespace

std::string annotation_json(const Annotated& annotated) {
  const Profile& profile = *annotated.view.profile;
  Json json;
  const profile::Unit unit(profile.session, annotated.annotation.all.ns);
  json.object([&] {
    if (!unit.is_time()) json.member("unit", unit.what());
    write_function(json, profile, unit, annotated.annotation.function);
    std::vector<std::string> others;
    for (const uint32_t function : annotated.annotation.others) {
      others.emplace_back(function_name(profile, function));
    }
    json.member("others", others);
    json.member("notes", annotated.notes);
    write_lines(json, annotated, unit);
    if (annotated.code) write_code(json, annotated, unit);
  });
  return json.text();
}

}  // namespace sampan::reports
