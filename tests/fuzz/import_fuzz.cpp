// Files of other programs: the first byte chooses the importer, the rest is the file. Whatever comes out is a recording that
// loads as a profile.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "importers/importer.h"
#include "profile/flat.h"
#include "profile/load.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sampan;
  if (size == 0) return 0;
  const auto all = importers::importers();
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  // Every eighth looks for the format itself.
  const std::string format = data[0] % 8 == 7 ? "" : std::string(all[data[0] % all.size()].name);
  try {
    const profile::Profile profile =
        profile::load(importers::import_bytes(bytes, format, {.rate_hz = data[0] & 0x80u}));
    profile::flat_table(profile::select(profile));
  } catch (const Error&) {
  }
  return 0;
}
