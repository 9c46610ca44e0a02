// The files that a process had mapped, as a profile lists them, and the SVMAs of addresses in them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sampler/process/memory_map.h"
#include "sampler/process/module_image.h"

namespace sampan::importers {

// The executable ranges of a text, by address: in the form of /proc/PID/maps, or in the short one of pprof's servers. Other
// lines are ignored.
std::vector<sampler::MappedRange> parse_maps(std::string_view text);
// Null where nothing is mapped.
const sampler::MappedRange* range_at(const std::vector<sampler::MappedRange>& ranges,
                                     uint64_t address);

// A file of this machine.
struct MappedFile {
  sampler::ElfLayout layout;
  sampler::ModuleBytes bytes;
};

// The files themselves, as far as this machine has them. Each is opened once.
class MappedFiles {
 public:
  // Null when it cannot be read, is no ELF file of this processor, or has another build-id. An empty `build_id` is any.
  const MappedFile* find(const std::string& path, const std::vector<uint8_t>& build_id);
  // The SVMA of an offset of the file, by its program headers. The offset itself where there is no such file.
  uint64_t svma(const std::string& path, const std::vector<uint8_t>& build_id, uint64_t offset);

 private:
  std::map<std::string, std::optional<MappedFile>> files_;
};

}  // namespace sampan::importers
