// Any bytes as a file of the cache of names, with the right key and checksum. A table that is accepted
// refers only to entries that exist.
#include <libdeflate.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "symbolizer/name_table.h"

using namespace sampan::symbolizer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint8_t kBuildId[] = {0xab, 0xcd};
  const NameTableKey key(kBuildId, false);
  std::string bytes(data, data + size);
  if (bytes.size() < sizeof(NameTableHeader)) return 0;
  NameTableHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.magic = NameTableHeader::kMagic;
  header.key = key;
  header.checksum = libdeflate_crc32(0, bytes.data() + sizeof header, bytes.size() - sizeof header);
  std::memcpy(bytes.data(), &header, sizeof header);
  const auto table = NameTable::of(bytes, key);
  if (!table) return 0;
  size_t sum = 0;
  for (const uint32_t svma : table->svmas()) {
    const auto row = table->find(svma);
    if (!row) continue;
    for (const NameTable::Line& line : table->lines(*row)) {
      const NameTable::Function& function = table->functions()[line.function];
      for (const uint32_t text : {line.file, function.name, function.file}) {
        for (const char letter : table->text(text)) sum += static_cast<size_t>(letter);
      }
    }
  }
  return sum == SIZE_MAX;
}
