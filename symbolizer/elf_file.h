// One ELF file, opened for reading: a program, a library, a separate debug file, or the vdso.
//
// Only one thread may use it: libelf is not thread-safe.
#pragma once

#include <libelf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sampan::symbolizer {

struct DebugLink {
  std::string name;
  uint32_t crc = 0;
};

class ElfFile {
 public:
  // Throws Error ("file not found" or the like), without the path.
  explicit ElfFile(const std::string& path);
  // An ELF image in memory. `name` is for messages.
  ElfFile(std::vector<char> image, std::string name);

  bool is_mapped() const { return descriptor_ != nullptr; }  // else it is in memory of its own
  Elf* handle() const { return elf_.get(); }
  const std::string& path() const { return path_; }
  std::span<const uint8_t> build_id() const { return build_id_; }
  std::optional<DebugLink> debug_link() const;
  bool has_debug_info() const { return has_debug_info_; }
  uint16_t machine() const;  // EM_X86_64 and so on

  struct Section {
    std::span<const uint8_t> bytes;  // as they are in the file; empty: no such section
    uint64_t svma = 0;
  };
  Section section(std::string_view name) const;
  // The file's bytes of the segment at `svma`, from there to the segment's end; empty if there are
  // none.
  std::span<const uint8_t> bytes_at(uint64_t svma) const;

 private:
  struct Descriptor {
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor();
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int number_;
  };
  struct EndElf {
    void operator()(Elf* elf) const { elf_end(elf); }
  };

  void inspect();

  std::string path_;
  std::vector<char> image_;
  std::unique_ptr<Descriptor> descriptor_;
  std::unique_ptr<Elf, EndElf> elf_;
  std::vector<uint8_t> build_id_;
  bool has_debug_info_ = false;
};

// Symbols that Fedora and related distributions leave in stripped files: .gnu_debugdata is an ELF
// file, compressed with xz, with a .symtab of the functions that are not in .dynsym (gdb's manual,
// "Debugging information in a special section"). None if the file has no such section. Throws Error
// if it is damaged or has more than 64 MB; the largest programs have a few.
std::optional<ElfFile> mini_debug_info(const ElfFile& file);

}  // namespace sampan::symbolizer
