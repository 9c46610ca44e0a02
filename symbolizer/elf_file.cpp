#include "symbolizer/elf_file.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace sampan::symbolizer {
namespace {

constexpr uint64_t kMaxSize = uint64_t{64} << 20;
constexpr uint64_t kMaxDictionary = uint64_t{128} << 20;  // xz -9 asks for 65 MB
constexpr size_t kFirstRoom = size_t{1} << 18;

struct Stream {
  Stream() {
    if (lzma_stream_decoder(&state, kMaxDictionary, 0) != LZMA_OK) {
      throw Error("no memory to decompress .gnu_debugdata");
    }
  }
  ~Stream() { lzma_end(&state); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  lzma_stream state = LZMA_STREAM_INIT;
};

std::vector<char> decompress(std::span<const uint8_t> bytes) {
  Stream stream;
  stream.state.next_in = bytes.data();
  stream.state.avail_in = bytes.size();
  std::vector<char> result;
  for (lzma_ret status = LZMA_OK; status != LZMA_STREAM_END;) {
    if (result.size() >= kMaxSize) {
      throw Error(".gnu_debugdata is larger than {} MB", kMaxSize >> 20);
    }
    const size_t done = result.size();
    result.resize(std::max(kFirstRoom, 2 * done));
    stream.state.next_out = reinterpret_cast<uint8_t*>(result.data()) + done;
    stream.state.avail_out = result.size() - done;
    status = lzma_code(&stream.state, LZMA_FINISH);
    result.resize(result.size() - stream.state.avail_out);
    const bool is_well = status == LZMA_STREAM_END || (status == LZMA_OK && result.size() > done);
    if (!is_well) throw Error(".gnu_debugdata cannot be decompressed");
  }
  return result;
}

}  // namespace

ElfFile::Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

ElfFile::ElfFile(const std::string& path) : path_(path) {
  elf_version(EV_CURRENT);
  // O_NONBLOCK: the path may be that of a pipe by now.
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

uint16_t ElfFile::machine() const {
  GElf_Ehdr header;
  return gelf_getehdr(elf_.get(), &header) != nullptr ? header.e_machine : uint16_t{EM_NONE};
}

std::optional<DebugLink> ElfFile::debug_link() const {
  GElf_Word crc = 0;
  const char* name = dwelf_elf_gnu_debuglink(elf_.get(), &crc);
  if (name == nullptr || *name == '\0' || strchr(name, '/') != nullptr) return std::nullopt;
  return DebugLink{name, crc};
}

std::optional<ElfFile> mini_debug_info(const ElfFile& file) {
  const std::span<const uint8_t> bytes = file.section(".gnu_debugdata").bytes;
  if (bytes.empty()) return std::nullopt;
  return ElfFile(decompress(bytes), file.path());
}

}  // namespace sampan::symbolizer
