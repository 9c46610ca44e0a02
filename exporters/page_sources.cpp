#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text/json_writer.h"
#include "exporters/page_data.h"
#include "profile/frames.h"
#include "profile/profile.h"

namespace sampan::exporters {
namespace {

using profile::Profile;

constexpr uint32_t kBefore = 12;  // lines around those with samples
constexpr uint32_t kBehind = 12;

// Which lines of which files the page gets.
class Files {
 public:
  void add(const profile::Annotation& annotation, const std::vector<profile::Source>& sources) {
    for (const profile::Source& source : sources) {
      if (source.lines.empty()) continue;
      File& file = files_[source.file];
      if (file.source == nullptr) file.source = &source;
      for (const profile::FlatRow& row : annotation.lines) {
        if (row.file == source.file) file.add(row.line);
      }
      if (annotation.function.file == source.file) file.add(annotation.function.line);
    }
    int64_t place = 0;
    for (const auto& [string, file] : files_) places_[string] = place++;
  }

  // -1: the page does not have it.
  int64_t place(uint32_t file) const {
    const auto found = places_.find(file);
    return found == places_.end() ? -1 : found->second;
  }

  void write(Json& json, const Profile& profile) const {
    json.key("files");
    json.array(files_, [&](const auto& each) {
      json.object([&] {
        json.member("file", profile.strings[each.first]);
        each.second.write_pieces(json);
      });
    });
  }

 private:
  struct File {
    const profile::Source* source = nullptr;
    std::set<uint32_t> shown = {};

    void add(uint32_t line) {
      if (line == 0) return;
      const auto last = static_cast<uint32_t>(source->lines.size());
      for (uint32_t i = line - std::min(line - 1, kBefore); i <= std::min(last, line + kBehind);
           ++i) {
        shown.insert(i);
      }
    }

    void write_pieces(Json& json) const {
      json.key("pieces");
      json.array_of([&] {
        for (auto line = shown.begin(); line != shown.end();) {
          json.object([&] {
            json.member("first", *line);
            json.key("lines");
            json.array_of([&] {
              uint32_t next = *line;
              for (; line != shown.end() && *line == next; ++line, ++next) {
                json.value(source->lines[next - 1]);
              }
            });
          });
        }
      });
    }
  };

  std::map<uint32_t, File> files_;  // by string
  std::map<uint32_t, int64_t> places_;
};

void write_function(Json& json, const Profile& profile, const PageSource& source,
                    const Files& files) {
  const profile::FlatRow& function = source.annotation.function;
  json.member("name", function_name(profile, function.function));
  json.member("module", module_name(profile, function.module));
  json.member("file", profile.strings[function.file]);
  json.member("line", function.line);
  json.key("code");
  json.array(source.code, [&](const profile::CodeRow& row) {
    json.array_of([&] {
      json.value(fmt::format("{:x}", row.address));
      json.value(row.text);
      json.value(static_cast<int>(files.place(row.file)));
      json.value(row.line);
      json.value(row.self.ns);
      json.value(row.self.samples);
    });
  });
}

}  // namespace

std::string page_sources(const profile::View& view, const std::vector<PageSource>& functions) {
  const Profile& profile = *view.profile;
  Files files;
  for (const PageSource& function : functions) files.add(function.annotation, function.sources);
  Json json;
  json.object([&] {
    files.write(json, profile);
    json.objects("functions", functions, [&](const PageSource& function) {
      write_function(json, profile, function, files);
    });
  });
  return json.text();
}

}  // namespace sampan::exporters
