// Names that were found before, by build-id: the same code has the same names for ever.
//
// One file for each module, replaced whole, so that several sampan may read and write at once: the
// last one counts. Only what debug information said is kept, be it that it says nothing: debug
// files that arrive later are asked for all else. A file that is damaged, of another build-id or
// another version counts as none. All files together are at most kMaxBytes; those that were not
// written for longest go first. A cache that cannot be written is none.
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

  // `linkage_names`: names as the linker has them are another file.
  NameCache(const std::string& directory, std::span<const uint8_t> build_id, bool linkage_names);

  const NameTable& known() const { return known_; }
  // Enters what is known: no lines where debug information has none. Returns the addresses that are
  // not known, ascending.
  std::vector<uint64_t> enter(LinesByAddress& lines, Names& names) const;
  // Adds these addresses, which were not known, ascending, and writes the file. Rows of known()
  // are others then.
  void add(const LinesByAddress& lines, std::span<const uint64_t> svmas);

 private:
  void save(std::string_view bytes) const;

  std::string directory_;  // "": nothing is kept
  std::string path_;
  NameTableKey key_;
  NameTable known_;
};

// $XDG_CACHE_HOME/sampan, else ~/.cache/sampan; "" where there is no such place.
std::string default_cache_directory();

}  // namespace sampan::symbolizer
