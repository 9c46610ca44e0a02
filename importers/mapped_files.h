// Where a process had mapped which files, as a profile lists it; and SVMAs of addresses in them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sampan::symbolizer {
class ElfFile;
}

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

// The files themselves, as far as this machine has them.
class MappedFiles {
 public:
  MappedFiles();
  ~MappedFiles();

  // The SVMA of an offset of the file, by its program headers. The offset itself where the file cannot be read.
  uint64_t svma(const std::string& path, uint64_t offset);

 private:
  std::map<std::string, std::unique_ptr<symbolizer::ElfFile>> files_;  // null: cannot be read
};

}  // namespace sampan::importers
