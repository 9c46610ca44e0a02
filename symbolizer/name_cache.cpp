#include "symbolizer/name_cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "symbolizer/name_table.h"

namespace sampan::symbolizer {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxFileBytes = NameCache::kMaxBytes / 4;

// Removes the oldest files until the others are within the limit.
void trim(const std::string& directory) {
  struct Entry {
    fs::file_time_type time;
    uint64_t size;
    fs::path path;
  };
  std::vector<Entry> entries;
  uint64_t sum = 0;
  std::error_code error;
  // Other processes may remove files at the same time.
  for (fs::directory_iterator each(directory, error); !error && each != fs::directory_iterator();
       each.increment(error)) {
    std::error_code gone;
    const auto time = each->last_write_time(gone);
    const uint64_t size = gone ? 0 : each->file_size(gone);
    if (gone) continue;
    entries.push_back({time, size, each->path()});
    sum += size;
  }
  std::ranges::sort(entries, {}, &Entry::time);
  for (const Entry& entry : entries) {
    if (sum <= NameCache::kMaxBytes) return;
    fs::remove(entry.path, error);
    sum -= entry.size;
  }
}

}  // namespace

NameCache::NameCache(const std::string& directory, std::span<const uint8_t> build_id,
                     bool linkage_names)
    : key_(build_id, linkage_names) {
  if (key_.id_size == 0 || directory.empty()) return;
  directory_ = directory;
  path_ = fmt::format("{}/{:02x}{}", directory, fmt::join(build_id, ""),
                      linkage_names ? "-linkage" : "");
  if (auto table = NameTable::read(path_, kMaxFileBytes, key_)) known_ = std::move(*table);
}

std::vector<uint64_t> NameCache::enter(LinesByAddress& lines, Names& names) const {
  std::vector<uint64_t> missing;
  std::vector<const SourceFunction*> functions(known_.functions().size());
  std::vector<const std::string*> files(known_.texts());
  const auto file_of = [&](uint32_t text) {
    if (files[text] == nullptr) files[text] = names.file(std::string(known_.text(text)));
    return files[text];
  };
  const auto function_of = [&](uint32_t index) {
    const NameTable::Function& row = known_.functions()[index];
    if (functions[index] == nullptr && row.name != 0) {
      SourceFunction source;
      source.name = known_.text(row.name);
      source.file = file_of(row.file);
      source.line = row.line;
      functions[index] = names.add(std::move(source));
    }
    return functions[index];
  };
  for (const uint64_t svma : lines.svmas()) {
    const auto row = known_.find(svma);
    if (!row) {
      missing.push_back(svma);
      continue;
    }
    SourceLines& found = *lines.find(svma);
    for (const NameTable::Line& line : known_.lines(*row)) {
      found.push_back({function_of(line.function), file_of(line.file), line.line});
    }
  }
  return missing;
}

void NameCache::add(const LinesByAddress& lines, std::span<const uint64_t> svmas) {
  if (directory_.empty() || svmas.empty()) return;
  NameTableWriter writer(known_);
  writer.add(svmas, lines);
  if (writer.added() == 0) return;
  const std::string bytes = writer.bytes(key_);
  if (bytes.size() > kMaxFileBytes) return;
  save(bytes);
  if (auto table = NameTable::of(bytes, key_)) known_ = std::move(*table);
}

void NameCache::save(std::string_view bytes) const {
  std::error_code error;
  fs::create_directories(directory_, error);
  // Several threads of one process may save at the same time.
  static std::atomic<unsigned> saved = 0;
  const std::string temporary = fmt::format("{}.{}.{}", path_, getpid(), saved++);
  std::ofstream file(temporary, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file) fs::rename(temporary, path_, error);
  if (!file || error) fs::remove(temporary, error);
  trim(directory_);
}

std::string default_cache_directory() {
  const char* base = std::getenv("XDG_CACHE_HOME");
  if (base != nullptr && *base == '/') return std::string(base) + "/sampan";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache/sampan" : "";
}

}  // namespace sampan::symbolizer
