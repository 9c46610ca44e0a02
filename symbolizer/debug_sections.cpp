#include "symbolizer/debug_sections.h"

#include <gelf.h>
#include <libdeflate.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <system_error>
#include <thread>

#include "base/byte_cursor.h"
#include "base/error.h"

namespace sampan::symbolizer {

namespace {

using dwarf::Bytes;

// Limits how much memory a small file can demand: zlib expands at most 1032 times. Zstd can expand
// more, but never does for debug information.
constexpr uint64_t kMaxExpansion = 1032;
constexpr uint64_t kMaxInflated = uint64_t{1} << 32;
constexpr uint64_t kLargePage = uint64_t{1} << 21;
constexpr uint64_t kWorthAThread = uint64_t{4} << 20;
constexpr uint32_t kZlib = 1, kZstd = 2;  // ELFCOMPRESS_*

struct Stored {
  Bytes bytes;               // as in the file, without a compression header
  uint32_t compression = 0;  // 0: not compressed
  uint64_t size = 0;         // after inflating
};

bool is_split(std::string_view name) {
  return name.ends_with(".dwo");
}

// The member of Sections for a name: ".debug_info", ".zdebug_info", ".debug_info.dwo".
Bytes dwarf::Sections::*section_of(std::string_view name) {
  if (is_split(name)) name.remove_suffix(4);
  if (!name.starts_with(".debug_") && !name.starts_with(".zdebug_")) return nullptr;
  name.remove_prefix(name.find('_') + 1);
  if (name == "info") return &dwarf::Sections::info;
  if (name == "abbrev") return &dwarf::Sections::abbrev;
  if (name == "line") return &dwarf::Sections::line;
  if (name == "str") return &dwarf::Sections::str;
  if (name == "line_str") return &dwarf::Sections::line_str;
  if (name == "ranges") return &dwarf::Sections::ranges;
  if (name == "rnglists") return &dwarf::Sections::rnglists;
  if (name == "addr") return &dwarf::Sections::addr;
  if (name == "str_offsets") return &dwarf::Sections::str_offsets;
  if (name == "aranges") return &dwarf::Sections::aranges;
  return nullptr;
}

template <typename Function>
void for_each_section(Elf* elf, Function function) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name != nullptr) function(std::string_view(name), section, header);
  }
}

Stored stored_bytes(std::string_view name, Elf_Scn* section, const GElf_Shdr& header) {
  const Elf_Data* data = elf_rawdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  Stored stored{{static_cast<const uint8_t*>(data->d_buf), data->d_size}, 0, data->d_size};
  ByteCursor cursor(stored.bytes);
  if ((header.sh_flags & SHF_COMPRESSED) != 0) {
    stored.compression = cursor.u32();
    cursor.skip(4);
    stored.size = cursor.u64();
    cursor.skip(8);
  } else if (name.starts_with(".zdebug_") && stored.bytes.size() >= 12 &&
             memcmp(stored.bytes.data(), "ZLIB", 4) == 0) {
    stored.compression = kZlib;
    stored.size = 0;
    for (const uint8_t byte : stored.bytes.subspan(4, 8)) stored.size = stored.size << 8 | byte;
    cursor.skip(12);
  }
  stored.bytes = stored.bytes.subspan(cursor.offset());
  return stored;
}

// libdeflate takes a third of zlib's time because it has the whole input at once.
bool inflate_zlib(Bytes from, uint8_t* to, uint64_t size) {
  const std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)> decompressor(
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  size_t written = 0;
  return decompressor != nullptr &&
         libdeflate_zlib_decompress(decompressor.get(), from.data(), from.size(), to, size,
                                    &written) == LIBDEFLATE_SUCCESS &&
         written == size;
}

// Pages of a mapped file that will not be read again need not stay in memory beside the inflated
// bytes.
void release_pages(Bytes bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

bool inflate_zstd(Bytes from, uint8_t* to, uint64_t size) {
  return ZSTD_decompress(to, size, from.data(), from.size()) == size;
}

// A compressed section, and the bytes that it becomes.
struct Inflation {
  std::string_view name;
  Stored stored;
  uint8_t* to;
  bool from_mapped_file;
  bool done = false;

  void run() {
    done = stored.compression == kZlib
               ? inflate_zlib(stored.bytes, to, stored.size)
               : stored.compression == kZstd && inflate_zstd(stored.bytes, to, stored.size);
    if (from_mapped_file) release_pages(stored.bytes);
  }
};

// The largest section, usually .debug_info, takes longest. Another thread inflates the others meanwhile, if they are worth one and
// the system permits it.
void inflate(std::span<Inflation> inflations) {
  if (inflations.empty()) return;
  std::ranges::sort(inflations, std::greater(), [](const Inflation& i) { return i.stored.size; });
  uint64_t others_size = 0;
  for (const Inflation& other : inflations.subspan(1)) others_size += other.stored.size;
  const auto run_others = [&] {
    for (Inflation& other : inflations.subspan(1)) other.run();
  };
  std::jthread others;
  try {
    if (others_size >= kWorthAThread) others = std::jthread(run_others);
  } catch (const std::system_error&) {
  }
  if (!others.joinable()) run_others();
  inflations.front().run();
}

}  // namespace

// In huge pages if possible: half of the cost of a page is the kernel's.
DebugSections::Buffer DebugSections::allocate(uint64_t size) {
  const uint64_t rounded = (size / kLargePage + 1) * kLargePage;
  const bool is_large = size >= 2 * kLargePage;
  Buffer buffer(
      static_cast<uint8_t*>(is_large ? aligned_alloc(kLargePage, rounded) : malloc(size + 1)));
  if (buffer == nullptr) throw std::bad_alloc();
  if (is_large) madvise(buffer.get(), rounded, MADV_HUGEPAGE);
  return buffer;
}

DebugSections::DebugSections(const ElfFile& file) {
  std::vector<Inflation> inflations;
  for_each_section(
      file.handle(), [&](std::string_view name, Elf_Scn* section, const GElf_Shdr& header) {
        Bytes dwarf::Sections::*member = section_of(name);
        const Stored stored = stored_bytes(name, section, header);
        if (name == ".debug_cu_index") cu_index = stored.bytes;
        if (name == ".gnu_debugaltlink") alt_link = stored.bytes;
        if (member == nullptr) return;
        // In one expression, gcc 12 writes to a copy.
        dwarf::Sections& part = is_split(name) ? split : sections;
        Bytes& target = part.*member;
        target = stored.bytes;
        if (stored.compression == 0) return;
        target = {};
        if (stored.size > kMaxInflated || stored.size / kMaxExpansion > stored.bytes.size()) {
          throw Error("its section {} says that it is larger than it can be", name);
        }
        auto inflated = allocate(stored.size);
        inflations.push_back({name, stored, inflated.get(), file.is_mapped()});
        target = {inflated.get(), stored.size};
        inflated_.push_back(std::move(inflated));
      });
  inflate(inflations);
  for (const Inflation& inflation : inflations) {
    if (!inflation.done) throw Error("its section {} cannot be decompressed", inflation.name);
  }
}

uint64_t inflated_bytes(const ElfFile& file) {
  uint64_t sum = 0;
  for_each_section(
      file.handle(), [&](std::string_view name, Elf_Scn* section, const GElf_Shdr& header) {
        if (section_of(name) == nullptr) return;
        const bool may_be = (header.sh_flags & SHF_COMPRESSED) != 0 || name.starts_with(".z");
        const Stored stored = may_be ? stored_bytes(name, section, header) : Stored();
        if (stored.compression != 0) sum += stored.size;
      });
  return sum;
}

}  // namespace sampan::symbolizer
