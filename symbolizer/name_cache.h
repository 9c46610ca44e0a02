// Names that were found before, by build-id: the same code always has the same names.
//
// Each module has one file, which is replaced as a whole, so several sampan may read and write at
// once; the last writer wins. Only answers of debug information are kept, including that it knows
// nothing; for everything else, debug files that arrive later are consulted. A file that is
// damaged, or of another build-id or version, is ignored. All files together have at most
// kMaxBytes; those that were not written for the longest time go first. If the cache cannot be
// written, there is none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "symbolizer/name_table.h"
#include "symbolizer/source_lines.h"

namespace sampan::symbolizer {

class NameCache {
 public:
  static constexpr uint64_t kMaxBytes = uint64_t{256} << 20;

  // `linkage_names`: names as the linker has them are in a file of their own.
  NameCache(const std::string& directory, std::span<const uint8_t> build_id, bool linkage_names);

  const NameTable& known() const { return known_; }
  // Enters what is known: no lines for addresses that debug information does not know. Returns the
  // addresses that are not in the cache, ascending.
  std::vector<uint64_t> enter(LinesByAddress& lines, Names& names) const;
  // Adds addresses that were not known (ascending), and writes the file. Changes the rows of
  // known().
  void add(const LinesByAddress& lines, std::span<const uint64_t> svmas);

 private:
  void save(std::string_view bytes) const;

  std::string directory_;  // "": nothing is kept
  std::string path_;
  NameTableKey key_;
  NameTable known_;
};

// $XDG_CACHE_HOME/sampan, else ~/.cache/sampan; "" if neither variable is set.
std::string default_cache_directory();

}  // namespace sampan::symbolizer
