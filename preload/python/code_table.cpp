#include "preload/python/code_table.h"

#include <sys/mman.h>

#include <atomic>

#include "base/byte_writer.h"
#include "base/syscall.h"
#include "preload/python/python_text.h"
#include "wire/control_block.h"
#include "wire/record.h"

namespace sampan::preload {
namespace {

constexpr uint32_t kEntries = 1 << 15;
constexpr uint32_t kProbes = 32;
constexpr uint64_t kStringHash = 24;  // of PyASCIIObject: once it is known, which it is of names
constexpr size_t kMaxText = 1024;     // bytes of a string
// Kept free for samples: a burst of new code objects must not crowd them out.
constexpr size_t kReserve = wire::kThreadRingSize / 2;

struct Entry {
  std::atomic<uint64_t> identity;  // 0: free
  std::atomic<bool> announced;
};
Entry* entries;

struct Code {
  uint64_t constants, names, file, name, qualified_name, line_table;
  uint64_t name_hash;
  int32_t first_line;
};

bool read_code(PythonMemory& memory, const unwind::PythonLayout& layout, uint64_t at, Code& code) {
  return memory.read(at + layout.code_constants, code.constants) &&
         memory.read(at + layout.code_names, code.names) &&
         memory.read(at + layout.code_file, code.file) &&
         memory.read(at + layout.code_name, code.name) &&
         memory.read(code.name + kStringHash, code.name_hash) &&
         memory.read(at + layout.code_qualified_name, code.qualified_name) &&
         memory.read(at + layout.code_line_table, code.line_table) &&
         memory.read(at + layout.code_first_line, code.first_line);
}

// A sum of products with odd random numbers: unlike a chain of them, they do not wait for each other.
uint64_t identity_of(uint64_t at, const Code& code) {
  const uint64_t sum = at * 0x9e3779b97f4a7c15 + code.constants * 0xbf58476d1ce4e5b9 +
                       code.names * 0x94d049bb133111eb + code.file * 0xd6e8feb86659fd93 +
                       code.name * 0xa0761d6478bd642f + code.name_hash * 0xe7037ed1a0b428db +
                       code.qualified_name * 0x8ebc6af09c88c6e3 +
                       code.line_table * 0x589965cc75374cc3 +
                       static_cast<uint32_t>(code.first_line) * 0x1d8e4e27c47d124f;
  return ((sum ^ sum >> 32) * 0x9e3779b97f4a7c15) | 1;
}

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

constexpr uint64_t kBytesSize = 16;
constexpr uint64_t kBytesData = 32;

bool find_line_table(PythonMemory& memory, const unwind::PythonLayout& layout, uint64_t object,
                     PythonBytes& table) {
  constexpr uint64_t kMost = wire::kMaxPythonLineTable;
  uint64_t size = 0;
  table.width = static_cast<uint8_t>(layout.line_table);
  if (!memory.read(object + kBytesSize, size)) return false;
  table.at = object + kBytesData;
  table.size = static_cast<uint16_t>(size < kMost ? size : kMost);
  return memory.readable(table.at, table.size);
}

void write(ByteWriter& writer, const PythonBytes& bytes) {
  writer.fixed(bytes.width);
  writer.fixed(bytes.size);
  writer.bytes(reinterpret_cast<const void*>(bytes.at), bytes.size);
}

// False when the ring had no room for it.
bool announce(PythonMemory& memory, const unwind::PythonLayout& layout, const Code& code,
              uint32_t number, wire::RingWriter& ring) {
  PythonBytes name, file, table;
  if (!find_text(memory, layout, code.qualified_name, kMaxText, name) ||
      !find_text(memory, layout, code.file, kMaxText, file) ||
      !find_line_table(memory, layout, code.line_table, table)) {
    return false;
  }
  const size_t size = sizeof number + sizeof code.first_line +
                      3 * (sizeof table.width + sizeof table.size) + name.size + file.size +
                      table.size;
  if (!ring.has_room(size, kReserve)) return false;
  const std::span<uint8_t> room = ring.begin(size, kReserve);
  if (room.empty()) return false;
  ByteWriter writer(room);
  writer.fixed(number);
  writer.fixed(code.first_line);
  write(writer, name);
  write(writer, file);
  write(writer, table);
  ring.commit(static_cast<uint8_t>(wire::RecordType::kPythonCode), writer.size());
  return true;
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
    if (entries[i].announced.load(std::memory_order_relaxed)) entries[i].announced.store(false);
  }
}

CodeKind find_code(PythonMemory& memory, const unwind::PythonLayout& layout, uint64_t at,
                   wire::RingWriter& ring, uint32_t& number) {
  Code code{};
  number = 0;
  if (!read_code(memory, layout, at, code)) return CodeKind::kUnreadable;
  // _Py_InitCleanup, below a call of a class: its file is its name.
  if (code.file == code.name) return CodeKind::kInternal;
  Entry* entry = find_entry(identity_of(at, code));
  if (entry == nullptr) return CodeKind::kFunction;
  number = static_cast<uint32_t>(entry - entries) + 1;
  if (!entry->announced.load(std::memory_order_acquire) &&
      announce(memory, layout, code, number, ring)) {
    entry->announced.store(true, std::memory_order_release);
  }
  return CodeKind::kFunction;
}

}  // namespace sampan::preload
