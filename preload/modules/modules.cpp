#include "preload/modules/modules.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <span>

#include "base/byte_writer.h"
#include "base/syscall.h"
#include "preload/markers/marker_functions.h"
#include "preload/modules/program_file.h"
#include "preload/process/process.h"
#include "preload/python/interpreter.h"
#include "preload/samples/sample.h"
#include "preload/support/elf_notes.h"
#include "preload/support/growing_memory.h"
#include "preload/support/interpose.h"
#include "preload/support/spin_lock.h"
#include "preload/tracing/otel_place.h"
#include "wire/record.h"

namespace sampan::preload {
namespace {

constexpr size_t kMaxModules = 8192;
constexpr size_t kMaxBuildId = 64;
constexpr size_t kMostRecords = size_t{4} << 20;
constexpr size_t kFirstRecords = size_t{32} << 10;
constexpr size_t kMostInRecord = 2 * wire::kMaxPath;
constexpr unsigned kLockYields = 10'000;

struct Module {
  uint64_t bias;
  uint64_t start;
  uint64_t generation;  // of the last renewal that has seen it
  const char* name;     // the loader's; tells a file from another one at the same place
  size_t record_size;   // of its kModuleLoad without the time, in `records`
};

constinit SharedTask renewal;
Module* modules;
size_t module_count;
// The records of all modules, in the same order. A forked child writes them again without asking the
// loader, whose lock may be held for ever by a thread that does not exist there.
uint8_t* records;
constinit GrowingMemory records_memory;
size_t records_size;
uint64_t generation;
// The loader's counts of added and removed modules when the list was last renewed, and how many it had then. It puts new ones at
// the end of its list.
unsigned long long seen_added;
unsigned long long seen_removed;
size_t seen_modules;
size_t position;  // in the loader's list, while that is read

struct Extent {
  uint64_t start;
  uint64_t end;
  std::span<const uint8_t> build_id;
};

std::span<const uint8_t> find_build_id(std::span<const uint8_t> notes, uint64_t alignment) {
  std::span<const uint8_t> found;
  for_each_note(notes, alignment, [&](const ElfNote& note) {
    if (found.empty() && note.type == NT_GNU_BUILD_ID && note.name.size() == 4 &&
        memcmp(note.name.data(), "GNU", 4) == 0) {
      const size_t size = note.descriptor.size();
      found = note.descriptor.first(size < kMaxBuildId ? size : kMaxBuildId);
    }
  });
  return found;
}

Extent extent_of(const dl_phdr_info& info) {
  Extent extent{UINT64_MAX, 0, {}};
  for (const ElfW(Phdr) & header : std::span(info.dlpi_phdr, info.dlpi_phnum)) {
    const uint64_t begin = info.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD) {
      const uint64_t first = begin & ~uint64_t{4095};
      const uint64_t last = (begin + header.p_memsz + 4095) & ~uint64_t{4095};
      if (first < extent.start) extent.start = first;
      if (last > extent.end) extent.end = last;
    } else if (header.p_type == PT_NOTE && extent.build_id.empty()) {
      extent.build_id =
          find_build_id({reinterpret_cast<const uint8_t*>(begin), header.p_memsz}, header.p_align);
    }
  }
  return extent;
}

// The path by which others can open the file, in `buffer`.
std::span<const char> path_of(const dl_phdr_info& info, const Extent& extent,
                              std::span<char> buffer) {
  const char* name = info.dlpi_name;
  if (extent.start == SAMPAN_NEXT(getauxval)(AT_SYSINFO_EHDR)) {
    name = "[vdso]";
  } else if (name == nullptr || name[0] == '\0') {
    return program_file(extent.start, buffer);
  }
  size_t used = 0;
  if (name[0] != '/' && name[0] != '[') {
    // The kernel counts the terminating zero.
    const long length = raw_syscall(SYS_getcwd, buffer.data(), buffer.size() - 1);
    if (length > 1) {
      used = static_cast<size_t>(length);
      buffer[used - 1] = '/';
    }
  }
  const size_t length = strnlen(name, buffer.size() - used);
  memcpy(buffer.data() + used, name, length);
  return buffer.first(used + length);
}

// Appends to `records`. Returns the size, 0 when there is no room.
size_t make_record(const dl_phdr_info& info, const Extent& extent) {
  if (!records_memory.reach(records_size + kMostInRecord,
                            !this_process.seccomp_filtered.load(std::memory_order_relaxed))) {
    return 0;
  }
  ByteWriter record({records + records_size, kMostInRecord});
  record.fixed(uint64_t{info.dlpi_addr});
  record.fixed(extent.start);
  record.fixed(extent.end);
  record.fixed(static_cast<uint8_t>(extent.build_id.size()));
  record.bytes(extent.build_id.data(), extent.build_id.size());
  char buffer[wire::kMaxPath];
  const std::span<const char> path = path_of(info, extent, buffer);
  record.bytes(path.data(), path.size());
  return record.ok() ? record.size() : 0;
}

void write_load(std::span<const uint8_t> record) {
  write_process_record(wire::RecordType::kModuleLoad, record, {}, wire::Loss::kModuleRecord);
}

void write_unload(const Module& module) {
  uint8_t buffer[2 * sizeof(uint64_t)];
  ByteWriter fields(buffer);
  fields.fixed(module.bias);
  fields.fixed(module.start);
  write_process_record(wire::RecordType::kModuleUnload, fields.written(), {},
                       wire::Loss::kModuleRecord);
}

// Both lists have the same order: a module is looked for behind the one that was found last.
size_t next_known;

Module* find_module(const dl_phdr_info& info, uint64_t start) {
  for (size_t i = next_known; i < module_count; ++i) {
    Module& module = modules[i];
    if (module.bias == info.dlpi_addr && module.start == start && module.name == info.dlpi_name) {
      next_known = i + 1;
      return &module;
    }
  }
  return nullptr;
}

struct Change {
  bool added;
  bool removed;
};

// The callbacks of dl_iterate_phdr. The loader's lock is held.
int notice_change(dl_phdr_info* info, size_t, void* noticed) {
  *static_cast<Change*>(noticed) = {info->dlpi_adds != seen_added, info->dlpi_subs != seen_removed};
  seen_added = info->dlpi_adds;
  seen_removed = info->dlpi_subs;
  return 1;
}

int mark_known(dl_phdr_info* info, size_t, void*) {
  if (Module* module = find_module(*info, extent_of(*info).start)) module->generation = generation;
  return 0;
}

int add_new(dl_phdr_info* info, size_t, void*) {
  if (position++ < seen_modules) return 0;
  // Known modules too: one may have been loaded again at the same place.
  connect_markers(*info);
  const bool at_start = !this_process.started.load(std::memory_order_relaxed);
  look_for_otel(*info, at_start);
  if (!at_start) find_interpreter(SymbolTable(*info));
  const Extent extent = extent_of(*info);
  if (extent.start >= extent.end || find_module(*info, extent.start) != nullptr) return 0;
  const size_t size = module_count < kMaxModules ? make_record(*info, extent) : 0;
  if (size == 0) {
    count_loss(wire::Loss::kModuleRecord);
    return 0;
  }
  modules[module_count++] = {info->dlpi_addr, extent.start, generation, info->dlpi_name, size};
  next_known = module_count;
  write_load({records + records_size, size});
  records_size += size;
  return 0;
}

void drop_gone() {
  size_t kept = 0;
  size_t kept_size = 0;
  const uint8_t* record = records;
  for (const Module& module : std::span(modules, module_count)) {
    const size_t size = module.record_size;
    if (module.generation == generation) {
      memmove(records + kept_size, record, size);
      kept_size += size;
      modules[kept++] = module;
    } else {
      write_unload(module);
    }
    record += size;
  }
  module_count = kept;
  records_size = kept_size;
}

void renew() {
  Change change{};
  SAMPAN_NEXT(dl_iterate_phdr)(notice_change, &change);
  if (!change.added && !change.removed) return;
  if (change.removed) {
    ++generation;
    next_known = 0;
    // Unloads before loads: a place may have a new owner.
    SAMPAN_NEXT(dl_iterate_phdr)(mark_known, nullptr);
    drop_gone();
    seen_modules = 0;
    next_known = 0;
  }
  begin_otel_search(change.removed);
  position = 0;
  SAMPAN_NEXT(dl_iterate_phdr)(add_new, nullptr);
  seen_modules = position;
  end_otel_search();
  walker.modules_loaded();
}

void* map(size_t size) {
  const long mapped = raw_syscall(SYS_mmap, nullptr, size, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return mapped < 0 && mapped > -4096 ? nullptr : reinterpret_cast<void*>(mapped);
}

}  // namespace

bool start_modules() {
  modules = static_cast<Module*>(map(kMaxModules * sizeof(Module)));
  records = static_cast<uint8_t*>(records_memory.start(kFirstRecords, kMostRecords));
  if (modules == nullptr || records == nullptr) return false;
  renew_modules();
  return true;
}

void renew_modules() {
  renewal.request(renew);
}

bool lock_modules() {
  return renewal.lock_for(kLockYields);
}

void unlock_modules() {
  renewal.unlock();
  renewal.run_if_requested(renew);
}

void modules_after_fork() {
  records_memory.after_fork();
  const uint8_t* record = records;
  for (const Module& module : std::span(modules, module_count)) {
    write_load({record, module.record_size});
    record += module.record_size;
  }
  renewal.unlock();
}

}  // namespace sampan::preload
