#include "symbolizer/module_files.h"

#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gelf.h>
#include <libdeflate.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>

#include "base/error.h"

namespace sampan::symbolizer {

namespace {

namespace fs = std::filesystem;
using BuildId = std::span<const uint8_t>;

std::string hex(BuildId bytes) {
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

bool same(BuildId a, BuildId b) {
  return std::ranges::equal(a, b);
}

// The kernel gives every process the same vdso, so sampan's own is the target's.
ElfFile own_vdso() {
  const auto* begin = reinterpret_cast<const char*>(getauxval(AT_SYSINFO_EHDR));
  if (begin == nullptr) throw Error("this kernel has no vdso");
  Elf64_Ehdr header;
  std::memcpy(&header, begin, sizeof header);
  const size_t size = header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
  return ElfFile(std::vector<char>(begin, begin + size), "[vdso]");
}

bool is_vdso(const std::string& path) {
  return path == "[vdso]" || path.starts_with("linux-vdso.so");
}

std::optional<ElfFile> open_if_there(const std::string& path) {
  try {
    return ElfFile(path);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// No debug file is larger, but a sparse file may be, and would be read for hours.
constexpr uint64_t kMaxChecked = uint64_t{64} << 30;

// .gnu_debuglink has the checksum of zlib.
bool has_crc(const std::string& path, uint32_t expected) {
  std::error_code error;
  if (fs::file_size(path, error) > kMaxChecked || error) return false;
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(1 << 18);
  uint32_t crc = 0;
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) ||
         file.gcount() > 0) {
    crc = libdeflate_crc32(crc, buffer.data(), static_cast<size_t>(file.gcount()));
  }
  return crc == expected;
}

std::optional<ElfFile> by_build_id(BuildId id, const std::vector<std::string>& directories) {
  const std::string name = build_id_path(id);
  if (name.empty()) return std::nullopt;
  for (const std::string& directory : directories) {
    std::optional<ElfFile> file = open_if_there(fs::path(directory) / name);
    if (file && same(file->build_id(), id)) return file;
  }
  return std::nullopt;
}

// `path`: as recorded.
std::optional<ElfFile> by_debug_link(const ElfFile& main, const std::string& path, BuildId id,
                                     const std::vector<std::string>& directories) {
  const std::optional<DebugLink> link = main.debug_link();
  if (!link) return std::nullopt;
  const fs::path beside = fs::path(path).parent_path();
  std::vector<fs::path> places;
  // A file below a sysroot has other neighbours than its path.
  for (const fs::path& folder : {fs::path(main.path()).parent_path(), beside}) {
    places.push_back(folder / link->name);
    places.push_back(folder / ".debug" / link->name);
  }
  for (const std::string& directory : directories) {
    places.push_back(fs::path(directory) / beside.relative_path() / link->name);
  }
  for (const fs::path& place : places) {
    std::optional<ElfFile> file = open_if_there(place);
    if (!file) continue;
    const bool checked = !id.empty() && !file->build_id().empty() ? same(file->build_id(), id)
                                                                  : has_crc(place, link->crc);
    if (checked) return file;
  }
  return std::nullopt;
}

// What is loaded of the file, in whole pages, is not what was recorded. Without a build-id, this is all that tells.
bool has_other_extent(const ElfFile& file, const profile::Module& module) {
  constexpr uint64_t kPage = 4096;
  size_t count = 0;
  if (module.svma_end == 0 || elf_getphdrnum(file.handle(), &count) != 0) return false;
  uint64_t begin = UINT64_MAX, end = 0;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(file.handle(), static_cast<int>(i), &segment) == nullptr) return false;
    if (segment.p_type != PT_LOAD) continue;
    begin = std::min(begin, segment.p_vaddr & ~(kPage - 1));
    end = std::max(end, (segment.p_vaddr + segment.p_memsz + kPage - 1) & ~(kPage - 1));
  }
  return begin != module.svma_begin || end != module.svma_end;
}

}  // namespace

std::string build_id_path(BuildId id) {
  if (id.size() < 2) return "";
  return fmt::format(".build-id/{:02x}/{}.debug", id[0], hex(id.subspan(1)));
}

const ElfFile* ModuleFiles::with_debug_info() const {
  if (main && main->has_debug_info()) return &*main;
  return debug && debug->has_debug_info() ? &*debug : nullptr;
}

ModuleFiles find_files(const profile::Module& module, const std::string& file,
                       const std::vector<std::string>& debug_directories, DebugServer* server) {
  ModuleFiles files;
  BuildId id = module.build_id;
  try {
    files.main = is_vdso(module.path) ? own_vdso() : ElfFile(file);
    if (id.empty()) {
      id = files.main->build_id();
    } else if (!same(files.main->build_id(), id)) {
      files.problem = fmt::format(
          "another file than the one that ran (build-id {}, recorded {}), not used",
          files.main->build_id().empty() ? "none" : hex(files.main->build_id()), hex(id));
      files.main.reset();
    }
  } catch (const Error& error) {
    files.problem = error.what();
  }
  if (module.build_id.empty() && files.main && has_other_extent(*files.main, module)) {
    files.problem = "another file than the one that ran (it is loaded differently), not used";
    files.main.reset();
    id = {};
  }
  const bool is_elsewhere = file != module.path && !file.starts_with("/proc/self/fd/");
  if (!files.main && is_elsewhere) files.problem = fmt::format("{}: {}", file, files.problem);
  if (files.main && files.main->has_debug_info()) return files;
  files.debug = by_build_id(id, debug_directories);
  if (!files.debug && files.main)
    files.debug = by_debug_link(*files.main, module.path, id, debug_directories);
  if (!files.debug && server != nullptr && !is_vdso(module.path)) {
    if (const std::optional<std::string> path = server->find(id)) {
      files.debug = open_if_there(*path);
      if (files.debug && !same(files.debug->build_id(), id)) files.debug.reset();
    }
  }
  return files;
}

}  // namespace sampan::symbolizer
