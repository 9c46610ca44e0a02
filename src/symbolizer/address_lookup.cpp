#include "symbolizer/address_lookup.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

namespace sampan::symbolizer {

namespace {

std::string_view text_of(const std::string* text) {
  return text != nullptr ? std::string_view(*text) : std::string_view();
}

void show(const SourceLines& lines, std::vector<AnswerLine>* shown) {
  for (const SourceLine& line : lines) {
    AnswerLine& answer = shown->emplace_back();
    answer.file = text_of(line.file);
    answer.line = line.line;
    answer.column = line.column;
    if (line.function == nullptr) continue;
    answer.function = line.function->name;
    answer.function_file = text_of(line.function->file);
    answer.function_line = line.function->line;
  }
}

void show(const NameTable& names, size_t row, std::vector<AnswerLine>* shown) {
  for (const NameTable::Line& line : names.lines(row)) {
    const NameTable::Function& function = names.functions()[line.function];
    shown->push_back({names.text(function.name), names.text(line.file), line.line, 0,
                      names.text(function.file), function.line});
  }
}

}  // namespace

AddressLookup::AddressLookup(const std::string& path, const Options& options)
    : options_(options), module_{.path = path, .build_id = {}}, names_(options.linkage_names) {
  const ElfFile file(path);
  module_.build_id.assign(file.build_id().begin(), file.build_id().end());
  if (options_.cache_directory.empty()) return;
  cache_.emplace(options_.cache_directory, file.build_id(), options_.linkage_names);
}

void AddressLookup::open_source() {
  if (source_) return;
  source_.emplace(module_, module_.path, options_.debug_directories,
                  std::numeric_limits<uint64_t>::max(), options_.debug_server.get());
  if (source_->debug() != nullptr) resolver_.emplace(*source_->debug(), names_);
}

std::string AddressLookup::problem() const {
  if (source_ && !source_->problem().empty()) return source_->problem();
  return options_.debug_server ? options_.debug_server->problem() : "";
}

void AddressLookup::find(std::span<const uint64_t> svmas, const Answer& answer) {
  std::vector<uint64_t> unknown;
  for (const uint64_t svma : svmas) {
    if (!cache_ || !cache_->known().find(svma)) unknown.push_back(svma);
  }
  const LinesByAddress found = look_up(std::move(unknown));
  std::vector<AnswerLine> lines;
  for (const uint64_t svma : svmas) {
    lines.clear();
    if (const SourceLines* const source = found.find(svma)) {
      show(*source, &lines);
    } else {
      show(cache_->known(), *cache_->known().find(svma), &lines);
    }
    answer(svma, lines);
  }
  if (cache_ && resolver_) cache_->add(found, found.svmas());
}

LinesByAddress AddressLookup::look_up(std::vector<uint64_t> svmas) {
  if (svmas.empty()) return {};
  std::ranges::sort(svmas);
  svmas.erase(std::unique(svmas.begin(), svmas.end()), svmas.end());
  LinesByAddress lines(std::move(svmas));
  open_source();
  if (resolver_) {
    for (const auto& unit : dwarf::group_by_unit(source_->debug()->file(), lines.svmas())) {
      resolver_->resolve(unit, lines);
    }
  }
  for (const uint64_t svma : lines.svmas()) {
    SourceLines& found = *lines.find(svma);
    source_->complete(found, svma, names_);
    if (found.size() == 1 && found[0].function == nullptr && found[0].file == nullptr) {
      found.clear();
    }
  }
  return lines;
}

}  // namespace sampan::symbolizer
