#include "reports/diff.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text/json_writer.h"
#include "base/text/readable.h"
#include "profile/frames.h"
#include "profile/unit.h"
#include "reports/table.h"

namespace sampan::reports {
namespace {

using profile::Change;
using profile::Diff;
using profile::DiffOptions;

std::string percent_text(double share) {
  return fmt::format("{:.2f}", 100 * share);
}

profile::Unit unit_of(const profile::Profile& profile, const Diff& diff) {
  return {profile.session, std::max(diff.total[0].ns, diff.total[1].ns)};
}

// The key of a weight in JSON.
std::string_view key_of(const profile::Unit& unit) {
  return unit.is_time() ? "time_s" : "weight";
}

std::string sides(const profile::Profile& profile, const Diff& diff) {
  const profile::Unit unit = unit_of(profile, diff);
  Table table({{.title = ""},
               {.title = "run", .left = true, .minimum = 12},
               {.title = std::string(unit.plural())},
               {.title = "samples"}});
  for (const unsigned side : {0u, 1u}) {
    table.add({side == 0 ? "A" : "B", printable(profile.sides[side]),
               unit.text(diff.total[side].ns), count(diff.total[side].samples)});
  }
  return table.text(80, Style(false));
}

std::string title(const profile::Profile& profile, const Diff& diff) {
  const profile::Unit unit = unit_of(profile, diff);
  const bool self = diff.options.of == DiffOptions::Of::kSelf;
  const bool time = diff.options.by == DiffOptions::By::kTime;
  return fmt::format("Functions by {} {}, % of all; beyond noise at {:g} % confidence",
                     self ? "self" : "total", time ? unit.what() : "samples",
                     100 * diff.options.confidence);
}

std::string changes(const profile::Profile& profile, const Diff& diff, size_t shown,
                    const PageOptions& options, const Style& style) {
  Table table({{.title = "A %"},
               {.title = "B %"},
               {.title = "change"},
               {.title = "±"},
               function_column(options),
               {.title = "module", .left = true, .minimum = 8}});
  for (size_t i = 0; i < shown; ++i) {
    const Change& change = diff.changes[i];
    table.add({percent_text(change.share[0]), percent_text(change.share[1]),
               fmt::format("{:+.2f}", 100 * change.change), percent_text(change.margin),
               function_cell(profile, change.function, options),
               function_module_cell(profile, change.function)});
  }
  return table.text(options.width, style);
}

// "37 functions without a change beyond noise, 12 with too few samples to tell".
std::string rest(const Diff& diff, size_t shown) {
  std::string text;
  if (shown < diff.beyond_noise) {
    text += fmt::format("and {} more beyond noise, ", count(diff.beyond_noise - shown));
  }
  const size_t still = diff.changes.size() - diff.beyond_noise;
  text += fmt::format("{} without a change beyond noise", plural(still, "function"));
  if (still != 0) {
    const auto widest = std::max_element(
        diff.changes.begin() + static_cast<ptrdiff_t>(diff.beyond_noise), diff.changes.end(),
        [](const Change& a, const Change& b) { return a.margin < b.margin; });
    text += fmt::format(" (which is at most ±{})", percent_text(widest->margin));
  }
  if (diff.too_few != 0) text += fmt::format(", {} with too few samples", count(diff.too_few));
  return text;
}

}  // namespace

std::string diff_page(const profile::View& view, const Diff& diff, const PageOptions& options) {
  const profile::Profile& profile = *view.profile;
  const Style style(options.colour);
  std::string text = sides(profile, diff);
  for (const std::string& note : options.notes) {
    for (const std::string& line : wrap("note: " + printable(note), options.text_width() - 2)) {
      text += "  " + style.warning(line) + "\n";
    }
  }
  const size_t shown =
      options.top == 0 ? diff.beyond_noise : std::min<size_t>(options.top, diff.beyond_noise);
  text += "\n" + style.heading(title(profile, diff)) + "\n";
  text += shown == 0 ? "  none\n" : changes(profile, diff, shown, options, style);
  for (const std::string& line : wrap(rest(diff, shown), options.text_width() - 2)) {
    text += "  " + style.faint(line) + "\n";
  }
  return text;
}

namespace {

void write_side(Json& json, const profile::View& view, const Diff& diff, unsigned side) {
  const profile::Unit unit = unit_of(*view.profile, diff);
  json.key(side == 0 ? "a" : "b");
  json.object([&] {
    json.member("name", view.profile->sides[side]);
    json.member(key_of(unit), unit.value(diff.total[side].ns));
    json.member("samples", diff.total[side].samples);
  });
}

void write_change(Json& json, const profile::Profile& profile, const profile::Unit& unit,
                  const Change& change) {
  const profile::Function function =
      change.function == profile::kNone ? profile::Function{} : profile.functions[change.function];
  json.member("name", function_name(profile, change.function));
  json.member("module", function_module_path(profile, change.function));
  json.member("file", profile.strings[function.file]);
  json.member("line", function.line);
  for (const unsigned side : {0u, 1u}) {
    json.key(side == 0 ? "a" : "b");
    json.object([&] {
      json.member("share", change.share[side]);
      json.member(key_of(unit), unit.value(change.weight[side].ns));
      json.member("samples", change.weight[side].samples);
    });
  }
  json.member("change", change.change);
  json.member("low", change.change - change.margin);
  json.member("high", change.change + change.margin);
  json.member("beyond_noise", change.beyond_noise());
}

}  // namespace

std::string diff_json(const profile::View& view, const Diff& diff,
                      const std::vector<std::string>& notes) {
  Json json;
  json.object([&] {
    write_side(json, view, diff, 0);
    write_side(json, view, diff, 1);
    json.member("by", diff.options.by == DiffOptions::By::kTime ? "time" : "samples");
    json.member("of", diff.options.of == DiffOptions::Of::kSelf ? "self" : "total");
    json.member("confidence", diff.options.confidence);
    json.member("beyond_noise", static_cast<uint64_t>(diff.beyond_noise));
    json.member("too_few_samples", static_cast<uint64_t>(diff.too_few));
    json.member("notes", notes);
    const profile::Unit unit = unit_of(*view.profile, diff);
    if (!unit.is_time()) json.member("unit", unit.what());
    json.objects("functions", diff.changes,
                 [&](const Change& change) { write_change(json, *view.profile, unit, change); });
  });
  return json.text();
}

}  // namespace sampan::reports
