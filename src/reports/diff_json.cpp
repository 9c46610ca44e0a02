#include "profile/frames.h"
#include "reports/diff.h"
#include "reports/json_writer.h"

namespace sampan::reports {
namespace {

using profile::Change;
using profile::Diff;
using profile::DiffOptions;

void write_side(Json& json, const profile::View& view, const Diff& diff, unsigned side) {
  json.key(side == 0 ? "a" : "b");
  json.object([&] {
    json.member("name", view.profile->sides[side]);
    json.member("seconds", static_cast<double>(diff.total[side].ns) / 1e9);
    json.member("samples", diff.total[side].samples);
  });
}

void write_change(Json& json, const profile::Profile& profile, const Change& change) {
  const profile::Function function =
      change.function == profile::kNone ? profile::Function{} : profile.functions[change.function];
  const bool in_module = function.module != profile::kNone;
  json.member("function", function_name(profile, change.function));
  json.member("module", in_module ? std::string_view(profile.modules[function.module].path) : "");
  json.member("file", profile.strings[function.file]);
  json.member("line", function.line);
  for (const unsigned side : {0u, 1u}) {
    json.key(side == 0 ? "a" : "b");
    json.object([&] {
      json.member("share", change.share[side]);
      json.member("seconds", static_cast<double>(change.weight[side].ns) / 1e9);
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
    json.objects("functions", diff.changes,
                 [&](const Change& change) { write_change(json, *view.profile, change); });
  });
  return json.text();
}

}  // namespace sampan::reports
