#include <fmt/core.h>

#include "profile/frames.h"
#include "reports/annotate.h"
#include "reports/json_writer.h"

namespace sampan::reports {
namespace {

using profile::FlatRow;
using profile::Profile;
using profile::Weight;

void write_weights(Json& json, const Weight& self, const Weight& total) {
  json.member("self_s", static_cast<double>(self.ns) / 1e9);
  json.member("total_s", static_cast<double>(total.ns) / 1e9);
  json.member("self_samples", self.samples);
  json.member("total_samples", total.samples);
}

std::string_view module_path(const Profile& profile, uint32_t module) {
  return module != profile::kNone ? std::string_view(profile.modules[module].path) : "";
}

void write_function(Json& json, const Profile& profile, const FlatRow& row) {
  json.member("function", function_name(profile, row.function));
  json.member("module", module_path(profile, row.module));
  json.member("file", profile.strings[row.file]);
  json.member("line", row.line);
  write_weights(json, row.self, row.total);
}

void write_lines(Json& json, const Annotated& annotated) {
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
      write_weights(json, row.self, row.total);
    });
  });
}

void write_code(Json& json, const Annotated& annotated) {
  const Profile& profile = *annotated.view.profile;
  json.objects("instructions", *annotated.code, [&](const CodeRow& row) {
    json.member("module", module_path(profile, row.module));
    json.member("address", fmt::format("0x{:x}", row.address));
    json.member("text", row.text);
    json.member("file", profile.strings[row.file]);
    json.member("line", row.line);
    write_weights(json, row.self, row.total);
  });
}

}  // namespace

std::string annotation_json(const Annotated& annotated) {
  const Profile& profile = *annotated.view.profile;
  Json json;
  json.object([&] {
    write_function(json, profile, annotated.annotation.function);
    std::vector<std::string> others;
    for (const uint32_t function : annotated.annotation.others) {
      others.emplace_back(function_name(profile, function));
    }
    json.member("others", others);
    json.member("notes", annotated.notes);
    write_lines(json, annotated);
    if (annotated.code) write_code(json, annotated);
  });
  return json.text();
}

}  // namespace sampan::reports
