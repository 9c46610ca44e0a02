// One ELF file, opened for reading: a program, a library, a separate debug file, or the vdso.
//
// A handle belongs to one thread: libelf is not thread-safe.
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
  // Throws Error, "file not found" or the like, without the path.
  explicit ElfFile(const std::string& path);
  // An ELF image in memory, `name` for messages.
  ElfFile(std::vector<char> image, std::string name);

  bool is_mapped() const { return descriptor_ != nullptr; }  // else in memory of its own
  Elf* handle() const { return elf_.get(); }
  const std::string& path() const { return path_; }
  std::span<const uint8_t> build_id() const { return build_id_; }
  std::optional<DebugLink> debug_link() const;
  bool has_debug_info() const { return has_debug_info_; }

  struct Section {
    std::span<const uint8_t> bytes;  // as they are in the file; empty: there is no such section
    uint64_t svma = 0;
  };
  Section section(std::string_view name) const;
  // What the file has of the segment around an address, from there to its end; empty: nothing.
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

}  // namespace sampan::symbolizer
