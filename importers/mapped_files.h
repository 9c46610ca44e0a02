// Where a process had mapped which files, as a profile lists it; and SVMAs of addresses in them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sampler/process/module_image.h"

namespace sampan::importers {

struct MappedRange {
  uint64_t begin = 0, end = 0;  // AVMA
  uint64_t offset = 0;          // of the file at `begin`
  std::string path;
};

// The executable ranges of a text, by address: in the form of /proc/PID/maps (proc(5)), or in the short one of pprof's
// servers. Other lines are ignored.
std::vector<MappedRange> parse_maps(std::string_view text);
// Null where nothing is mapped.
const MappedRange* range_at(const std::vector<MappedRange>& ranges, uint64_t address);

// A file of this machine.
struct MappedFile {
  sampler::ElfLayout layout;
  sampler::ModuleBytes bytes;
};

// The files themselves, as far as this machine has them. Each is opened once.
class MappedFiles {
 public:
  // Null when it cannot be read, is no ELF file of x86-64, or has another build-id. An empty `build_id` is any.
  const MappedFile* find(const std::string& path, const std::vector<uint8_t>& build_id);
  // The SVMA of an offset of the file, by its program headers. The offset itself where there is no such file.
  uint64_t svma(const std::string& path, const std::vector<uint8_t>& build_id, uint64_t offset);

 private:
  std::map<std::string, std::optional<MappedFile>> files_;
};

}  // namespace sampan::importers
