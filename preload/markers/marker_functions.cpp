#include "preload/markers/marker_functions.h"

#include "preload/markers/marker_thread.h"
#include "preload/process/shared_memory.h"
#include "preload/support/elf_notes.h"
#include "preload/support/interpose.h"

// Only the declaration of the table: the shim sets no markers.
#define SAMPAN_NO_MARKERS
#include <sampan/markers.h>

namespace sampan::preload {
namespace {

constexpr uint32_t kVersion = 3;
constexpr sampan_marker_functions kFunctions = {
    .span_begin = span_begin,
    .span_end = span_end,
    .span_text = span_text,
    .span_current = span_current,
    .span_start = span_start,
    .span_stop = span_stop,
    .event = event,
    .counter_add = counter_add,
    .counter_set = counter_set,
    .section_start = section_start,
    .section_stop = section_stop,
    .pause = pause_by_program,
    .resume = resume_by_program,
    .thread_label = thread_label,
    .thread_order = thread_order,
    .process_label = process_label,
    .process_order = process_order,
    .profiled = [] { return markers_recorded() ? 1 : 0; },
    .span_text_of = span_text_of,
    .trace_context = trace_context,
    .trace_section_start = trace_section_start,
};

bool connecting;

// Whether the module can hold a writable pointer there.
bool is_writable(const dl_phdr_info& module, uint64_t address) {
  for (const ElfW(Phdr) & header : std::span(module.dlpi_phdr, module.dlpi_phnum)) {
    const uint64_t begin = module.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && (header.p_flags & PF_W) != 0 && address >= begin &&
        address - begin < header.p_memsz && header.p_memsz - (address - begin) >= sizeof(void*)) {
      return address % alignof(void*) == 0;
    }
  }
  return false;
}

void connect(const dl_phdr_info& module, const ElfNote& note) {
  constexpr char kOwner[] = "sampan";
  uint64_t distance = 0;
  if (note.name.size() != sizeof kOwner || memcmp(note.name.data(), kOwner, sizeof kOwner) != 0 ||
      note.type == 0 || note.type > kVersion || note.descriptor.size() != sizeof distance) {
    return;
  }
  memcpy(&distance, note.descriptor.data(), sizeof distance);
  const uint64_t pointer = reinterpret_cast<uint64_t>(note.descriptor.data()) + distance;
  if (!is_writable(module, pointer) || !map_markers()) return;
  __atomic_store_n(reinterpret_cast<const sampan_marker_functions**>(pointer), &kFunctions,
                   __ATOMIC_RELEASE);
}

}  // namespace

void start_markers(bool allowed) {
  connecting = allowed;
}

void connect_markers(const dl_phdr_info& module) {
  if (!connecting) return;
  for (const ElfW(Phdr) & header : std::span(module.dlpi_phdr, module.dlpi_phnum)) {
    if (header.p_type != PT_NOTE) continue;
    const auto* begin = reinterpret_cast<const uint8_t*>(module.dlpi_addr + header.p_vaddr);
    for_each_note({begin, header.p_memsz}, header.p_align,
                  [&](const ElfNote& note) { connect(module, note); });
  }
}

}  // namespace sampan::preload

// For languages that cannot include the header.
SAMPAN_EXPORT const sampan_marker_functions* sampan_find_markers(uint32_t version) {
  using namespace sampan::preload;
  return connecting && version != 0 && version <= kVersion && map_markers() ? &kFunctions : nullptr;
}
