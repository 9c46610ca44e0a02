#include "unwind/module_finder.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include <cstring>

#include "base/syscall.h"

namespace sampan::unwind {
namespace {

constexpr uint64_t kPageSize = 4096;

bool holds(const Elf64_Phdr& segment, uint64_t bias, uint64_t avma) {
  return segment.p_type == PT_LOAD && avma - (bias + segment.p_vaddr) < segment.p_filesz;
}

// The program headers of the module whose ELF header is at `start`, if they are in its first page.
const Elf64_Phdr* headers_at(uint64_t start, uint64_t& count, uint64_t& bias) {
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(start);
  if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_phentsize != sizeof(Elf64_Phdr) ||
      header->e_phnum > kPageSize / sizeof(Elf64_Phdr) ||
      header->e_phoff > kPageSize - header->e_phnum * sizeof(Elf64_Phdr)) {
    return nullptr;
  }
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(start + header->e_phoff);
  count = header->e_phnum;
  for (unsigned index = 0; index < count; ++index) {
    if (segments[index].p_type != PT_LOAD) continue;
    bias = start - (segments[index].p_vaddr & ~(kPageSize - 1));
    return segments;
  }
  return nullptr;
}

// Fills in the executable segment with `pc` and the segment with .eh_frame_hdr. False when there is
// no such code.
bool read_segments(std::span<const Elf64_Phdr> segments, uint64_t bias, uint64_t pc,
                   uint64_t eh_frame_hdr, Module& module) {
  bool found_code = false;
  module.eh_frame_hdr = 0;
  module.image = {};
  for (const Elf64_Phdr& segment : segments) {
    const uint64_t start = bias + segment.p_vaddr;
    if ((segment.p_flags & PF_X) != 0 && holds(segment, bias, pc)) {
      found_code = true;
      module.code_start = start;
      module.code_end = start + segment.p_filesz;
    }
    if ((segment.p_flags & PF_R) != 0 && eh_frame_hdr != 0 && holds(segment, bias, eh_frame_hdr)) {
      module.eh_frame_hdr = eh_frame_hdr;
      module.image = {{reinterpret_cast<const uint8_t*>(start), segment.p_filesz}, start};
    }
  }
  return found_code;
}

}  // namespace

ModuleFinder::Mapping ModuleFinder::mapping_of(const dl_phdr_info& info) {
  Mapping mapping{UINT64_MAX, 0, 0, info.dlpi_phdr, info.dlpi_phnum, info.dlpi_addr};
  for (const Elf64_Phdr& segment : std::span(info.dlpi_phdr, info.dlpi_phnum)) {
    const uint64_t start = info.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) mapping.eh_frame_hdr = start;
    if (segment.p_type != PT_LOAD) continue;
    const uint64_t first_page = start & ~(kPageSize - 1);
    if (first_page < mapping.start) mapping.start = first_page;
    if (start + segment.p_memsz > mapping.end) mapping.end = start + segment.p_memsz;
  }
  return mapping;
}

void ModuleFinder::start(FindObject* find_object) {
  const auto keep_program = [](dl_phdr_info* info, size_t, void* argument) {
    static_cast<ModuleFinder*>(argument)->program_ = mapping_of(*info);
    return 1;  // the program is the first in the list
  };
  dl_iterate_phdr(keep_program, this);
  find_object_ = find_object;
  if (snapshot_ != nullptr) return;
  const long memory = raw_syscall(SYS_mmap, nullptr, sizeof(Snapshot), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory < 0 && memory > -4096) return;
  snapshot_ = reinterpret_cast<Snapshot*>(memory);
  refresh();
}

void ModuleFinder::refresh() {
  if (snapshot_ == nullptr) return;
  struct Refresh {
    Snapshot& snapshot;
    const bool all;
    uint32_t count;
  } state{*snapshot_, find_object_ == nullptr, 0};
  // The loader holds its lock while it calls this: one writer at a time.
  const auto add = [](dl_phdr_info* info, size_t, void* argument) {
    auto& [snapshot, all, count] = *static_cast<Refresh*>(argument);
    if (count == Snapshot::kCapacity) return 1;
    const Mapping mapping = mapping_of(*info);
    snapshot.version.fetch_add(1, std::memory_order_acq_rel);
    if (!all && reinterpret_cast<uint64_t>(mapping.headers) - mapping.start < kPageSize) {
      snapshot.count.store(count, std::memory_order_relaxed);
      snapshot.version.fetch_add(1, std::memory_order_acq_rel);
      return 0;
    }
    auto& entry = snapshot.mappings[count];
    entry.start.store(mapping.start, std::memory_order_relaxed);
    entry.end.store(mapping.end, std::memory_order_relaxed);
    entry.eh_frame_hdr.store(mapping.eh_frame_hdr, std::memory_order_relaxed);
    entry.headers.store(mapping.headers, std::memory_order_relaxed);
    entry.header_count.store(mapping.header_count, std::memory_order_relaxed);
    entry.bias.store(mapping.bias, std::memory_order_relaxed);
    snapshot.count.store(++count, std::memory_order_relaxed);
    snapshot.version.fetch_add(1, std::memory_order_acq_rel);
    return 0;
  };
  dl_iterate_phdr(add, &state);
}

void ModuleFinder::after_fork(bool unloading) {
  if (snapshot_ == nullptr) return;
  const uint32_t version = snapshot_->version.load(std::memory_order_relaxed);
  if (version % 2 == 0 && !unloading) return;
  snapshot_->count.store(0, std::memory_order_relaxed);
  snapshot_->version.store((version | 1) + 1, std::memory_order_release);
}

bool ModuleFinder::find_in_snapshot(uint64_t pc, Mapping& mapping) const {
  const uint32_t version = snapshot_->version.load(std::memory_order_acquire);
  const uint32_t count = snapshot_->count.load(std::memory_order_relaxed);
  bool found = false;
  for (uint32_t index = 0; index < count && !found; ++index) {
    const auto& entry = snapshot_->mappings[index];
    mapping.start = entry.start.load(std::memory_order_acquire);
    mapping.end = entry.end.load(std::memory_order_acquire);
    mapping.eh_frame_hdr = entry.eh_frame_hdr.load(std::memory_order_acquire);
    mapping.headers = entry.headers.load(std::memory_order_acquire);
    mapping.header_count = entry.header_count.load(std::memory_order_acquire);
    mapping.bias = entry.bias.load(std::memory_order_acquire);
    found = mapping.start <= pc && pc < mapping.end;
  }
  return found && version % 2 == 0 && snapshot_->version.load(std::memory_order_relaxed) == version;
}

bool ModuleFinder::find(uint64_t pc, Module& module) const {
  Mapping mapping{};
  if (program_.start <= pc && pc < program_.end) {
    mapping = program_;
  } else if (find_object_ != nullptr) {
    dl_find_object object;
    if (find_object_(reinterpret_cast<void*>(pc), &object) != 0) return false;
    mapping.start = reinterpret_cast<uint64_t>(object.dlfo_map_start);
    mapping.eh_frame_hdr = reinterpret_cast<uint64_t>(object.dlfo_eh_frame);
    mapping.headers = headers_at(mapping.start, mapping.header_count, mapping.bias);
  }
  if (mapping.headers == nullptr && (snapshot_ == nullptr || !find_in_snapshot(pc, mapping))) {
    return false;
  }
  return read_segments({mapping.headers, mapping.header_count}, mapping.bias, pc,
                       mapping.eh_frame_hdr, module);
}

}  // namespace sampan::unwind
