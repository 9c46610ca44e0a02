#include "symbolizer/elf_file.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace sampan::symbolizer {

ElfFile::Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

ElfFile::ElfFile(const std::string& path) : path_(path) {
  elf_version(EV_CURRENT);
  // O_NONBLOCK: a path of a recording may name a pipe by now.
  descriptor_ = std::make_unique<Descriptor>(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (descriptor_->number_ < 0) {
    throw Error("{}", errno == ENOENT ? "file not found" : strerror(errno));
  }
  struct stat status {};
  if (fstat(descriptor_->number_, &status) != 0 || !S_ISREG(status.st_mode)) {
    throw Error("not a regular file");
  }
  elf_.reset(elf_begin(descriptor_->number_, ELF_C_READ_MMAP, nullptr));
  inspect();
}

ElfFile::ElfFile(std::vector<char> image, std::string name)
    : path_(std::move(name)), image_(std::move(image)) {
  elf_version(EV_CURRENT);
  elf_.reset(elf_memory(image_.data(), image_.size()));
  inspect();
}

void ElfFile::inspect() {
  if (elf_ == nullptr || elf_kind(elf_.get()) != ELF_K_ELF) throw Error("not an ELF file");
  const void* id = nullptr;
  if (const ssize_t size = dwelf_elf_gnu_build_id(elf_.get(), &id); size > 0) {
    const auto* bytes = static_cast<const uint8_t*>(id);
    build_id_.assign(bytes, bytes + size);
  }
  size_t names = 0;
  if (elf_getshdrstrndx(elf_.get(), &names) != 0) return;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* text = elf_strptr(elf_.get(), names, header.sh_name);
    const std::string_view name = text != nullptr ? text : "";
    if (name == ".debug_info" || name == ".zdebug_info") has_debug_info_ = true;
  }
}

ElfFile::Section ElfFile::section(std::string_view name) const {
  size_t names = 0;
  if (elf_getshdrstrndx(elf_.get(), &names) != 0) return {};
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* text = elf_strptr(elf_.get(), names, header.sh_name);
    if (text == nullptr || text != name) continue;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) return {};
    return {{static_cast<const uint8_t*>(data->d_buf), data->d_size}, header.sh_addr};
  }
  return {};
}

std::span<const uint8_t> ElfFile::bytes_at(uint64_t svma) const {
  size_t count = 0;
  if (elf_getphdrnum(elf_.get(), &count) != 0) return {};
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf_.get(), static_cast<int>(i), &header) == nullptr) return {};
    const uint64_t into = svma - header.p_vaddr;
    if (header.p_type != PT_LOAD || into >= header.p_filesz) continue;
    const Elf_Data* data =
        elf_getdata_rawchunk(elf_.get(), static_cast<int64_t>(header.p_offset + into),
                             header.p_filesz - into, ELF_T_BYTE);
    if (data == nullptr || data->d_buf == nullptr) return {};
    return {static_cast<const uint8_t*>(data->d_buf), data->d_size};
  }
  return {};
}

std::optional<DebugLink> ElfFile::debug_link() const {
  GElf_Word crc = 0;
  const char* name = dwelf_elf_gnu_debuglink(elf_.get(), &crc);
  if (name == nullptr || *name == '\0' || strchr(name, '/') != nullptr) return std::nullopt;
  return DebugLink{name, crc};
}

}  // namespace sampan::symbolizer
