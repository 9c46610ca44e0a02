#include "preload/python/code_table.h"

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <string_view>

#include "base/byte_writer.h"
#include "base/syscall.h"
#include "unwind/python_code.h"
#include "wire/control_block.h"
#include "wire/record.h"

namespace sampan::preload {
namespace {

constexpr uint32_t kEntries = 1 << 15;
constexpr uint32_t kProbes = 32;
// Kept free for samples: a burst of new code objects must not crowd them out. Line tables are most of it, so in
// a ring that is fuller, objects are announced by their names alone.
constexpr size_t kReserve = wire::kThreadRingSize / 2;
constexpr size_t kReserveOfNames = wire::kThreadRingSize / 4;

enum class Announced : uint8_t { kNot, kNamed, kWhole };

struct Entry {
  std::atomic<uint64_t> identity;  // 0: free
  std::atomic<Announced> announced;
  std::atomic<CodeKind> kind;  // known once it is announced
};
Entry* entries;

// Null when there is no room near its place.
Entry* find_entry(uint64_t identity) {
  for (uint32_t i = 0; i < kProbes; ++i) {
    Entry& entry = entries[((identity >> 17) + i) % kEntries];
    uint64_t seen = entry.identity.load(std::memory_order_acquire);
    if (seen == 0 && entry.identity.compare_exchange_strong(seen, identity)) return &entry;
    if (seen == identity) return &entry;
  }
  return nullptr;
}

void write(ByteWriter& writer, const unwind::PythonBytes& bytes) {
  writer.fixed(bytes.width);
  writer.fixed(bytes.size);
  writer.bytes(reinterpret_cast<const void*>(bytes.at), bytes.size);
}

// The functions of asyncio that find_step() looks for. Until 3.10, their names are not qualified.
CodeKind kind_of(const unwind::PythonBytes& name, const unwind::PythonBytes& file) {
  const auto ends_with = [](const unwind::PythonBytes& text, std::string_view end) {
    return text.width == 0 && text.size >= end.size() &&
           std::memcmp(reinterpret_cast<const char*>(text.at) + (text.size - end.size()),
                       end.data(), end.size()) == 0;
  };
  if (ends_with(file, "/asyncio/events.py") && ends_with(name, "_run")) {
    return CodeKind::kHandleRun;
  }
  if (ends_with(file, "/asyncio/base_events.py") && ends_with(name, "_run_once")) {
    return CodeKind::kLoopRound;
  }
  if (ends_with(file, "/asyncio/tasks.py") &&
      (ends_with(name, "__step") || ends_with(name, "__eager_start"))) {
    return CodeKind::kPythonStep;
  }
  return CodeKind::kFunction;
}

// `known`: what was announced before. Returns what is announced now: less than all when the ring had no room.
Announced announce(PythonMemory& memory, const unwind::PythonLayout& layout,
                   const unwind::CodeObject& code, uint32_t number, wire::RingWriter& ring,
                   Announced known, CodeKind& kind) {
  unwind::CodeTexts texts;
  if (!unwind::find_texts(memory, layout, code, texts)) return known;
  auto& [name, file, table] = texts;
  kind = kind_of(name, file);
  const size_t size_of_names = sizeof number + sizeof code.first_line +
                               3 * (sizeof table.width + sizeof table.size) + name.size + file.size;
  const bool is_whole = ring.has_room(size_of_names + table.size, kReserve);
  if (!is_whole && (known == Announced::kNamed || !ring.has_room(size_of_names, kReserveOfNames))) {
    return known;
  }
  if (!is_whole) table = {0, 0, wire::kNoLineTable};
  const std::span<uint8_t> room =
      ring.begin(size_of_names + table.size, is_whole ? kReserve : kReserveOfNames);
  if (room.empty()) return known;
  ByteWriter writer(room);
  writer.fixed(number);
  writer.fixed(code.first_line);
  write(writer, name);
  write(writer, file);
  write(writer, table);
  ring.commit(static_cast<uint8_t>(wire::RecordType::kPythonCode), writer.size());
  return is_whole ? Announced::kWhole : Announced::kNamed;
}

}  // namespace

bool start_code_table() {
  const long mapped =
      raw_syscall(SYS_mmap, nullptr, kEntries * sizeof(Entry), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped < 0 && mapped > -4096) return false;
  entries = reinterpret_cast<Entry*>(mapped);
  return true;
}

void code_table_after_fork() {
  if (entries == nullptr) return;
  for (uint32_t i = 0; i < kEntries; ++i) {
    if (entries[i].announced.load(std::memory_order_relaxed) != Announced::kNot) {
      entries[i].announced.store(Announced::kNot);
    }
  }
}

CodeKind find_code(PythonMemory& memory, const unwind::PythonLayout& layout, uint64_t at,
                   wire::RingWriter& ring, uint32_t& number) {
  unwind::CodeObject code{};
  number = 0;
  if (!unwind::read_code(memory, layout, at, code)) return CodeKind::kUnreadable;
  if (code.is_internal()) return CodeKind::kInternal;
  Entry* entry = find_entry(unwind::identity_of(at, code));
  if (entry == nullptr) return CodeKind::kFunction;
  number = static_cast<uint32_t>(entry - entries) + 1;
  const Announced known = entry->announced.load(std::memory_order_acquire);
  if (known == Announced::kWhole || (known == Announced::kNamed && !ring.has_room(0, kReserve))) {
    return entry->kind.load(std::memory_order_relaxed);
  }
  CodeKind kind = CodeKind::kFunction;
  const Announced now = announce(memory, layout, code, number, ring, known, kind);
  if (now != known) {
    entry->kind.store(kind, std::memory_order_relaxed);
    entry->announced.store(now, std::memory_order_release);
  }
  return kind;
}

}  // namespace sampan::preload
