#include "importers/mapped_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/file_descriptor.h"
#include "importers/text_lines.h"
#include "sampler/process/module_file.h"

namespace sampan::importers {

namespace {

// "400000-fcb000: $source/server" or "400000-fcb000: /bin/server @1000", as pprof's servers write it.
std::optional<sampler::MappedRange> parse_brief(std::string_view line) {
  std::string_view addresses = take_word(&line);
  if (!addresses.ends_with(':')) return std::nullopt;
  addresses.remove_suffix(1);
  const size_t dash = std::min(addresses.find('-'), addresses.size() - 1);
  const auto begin = number_of<uint64_t>(addresses.substr(0, dash), 16);
  const auto end = number_of<uint64_t>(addresses.substr(dash + 1), 16);
  if (!begin || !end || *begin >= *end) return std::nullopt;
  sampler::MappedRange range = {};
  range.start = Avma::at(*begin);
  range.end = Avma::at(*end);
  range.executable = true;
  const size_t at = line.rfind(" @");
  const auto offset = at == std::string_view::npos
                          ? std::nullopt
                          : number_of<uint64_t>(trimmed(line.substr(at + 2)), 16);
  range.offset = offset.value_or(0);
  range.path = offset ? trimmed(line.substr(0, at)) : line;
  return range;
}

// "$source/server" with the value of `source`.
std::string with_values(std::string path, const std::map<std::string, std::string>& values) {
  for (const auto& [name, value] : values) {
    const std::string wanted = "$" + name;
    if (path.starts_with(wanted)) path.replace(0, wanted.size(), value);
  }
  return path;
}

}  // namespace

std::vector<sampler::MappedRange> parse_maps(std::string_view text) {
  std::vector<sampler::MappedRange> ranges;
  std::map<std::string, std::string> values;
  while (!text.empty()) {
    const std::string_view line = trimmed(take_line(&text));
    std::optional<sampler::MappedRange> range = sampler::parse_map_line(line);
    if (!range) range = parse_brief(line);
    if (range && range->executable && !range->path.empty()) {
      range->path = with_values(std::move(range->path), values);
      ranges.push_back(std::move(*range));
    } else if (const size_t equals = line.find('='); !range && equals != std::string_view::npos) {
      values[std::string(line.substr(0, equals))] = line.substr(equals + 1);
    }
  }
  std::ranges::sort(ranges, {}, &sampler::MappedRange::start);
  return ranges;
}

const sampler::MappedRange* range_at(const std::vector<sampler::MappedRange>& ranges,
                                     uint64_t address) {
  const auto after =
      std::ranges::upper_bound(ranges, Avma::at(address), {}, &sampler::MappedRange::start);
  if (after == ranges.begin() || address >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

const MappedFile* MappedFiles::find(const std::string& path, const std::vector<uint8_t>& build_id) {
  const auto [found, is_new] = files_.try_emplace(path);
  std::optional<MappedFile>& file = found->second;
  if (is_new && path.starts_with('/')) {
    // A FIFO of that name must not make us wait.
    auto opened = std::make_shared<FileDescriptor>(
        open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status = {};
    if (*opened && fstat(opened->get(), &status) == 0 && S_ISREG(status.st_mode)) {
      sampler::ModuleBytes bytes = sampler::bytes_of_file(std::move(opened));
      std::optional<sampler::ElfLayout> layout = sampler::read_elf_layout(bytes);
      if (layout) file = MappedFile{std::move(*layout), std::move(bytes)};
    }
  }
  if (!file || (!build_id.empty() && build_id != file->layout.build_id)) return nullptr;
  return &*file;
}

uint64_t MappedFiles::svma(const std::string& path, const std::vector<uint8_t>& build_id,
                           uint64_t offset) {
  const MappedFile* const file = find(path, build_id);
  if (file == nullptr) return offset;
  for (const sampler::ElfLayout::Segment& segment : file->layout.segments) {
    if (offset - segment.offset < segment.file_size) {
      return segment.svma + (offset - segment.offset);
    }
  }
  return offset;
}

}  // namespace sampan::importers
