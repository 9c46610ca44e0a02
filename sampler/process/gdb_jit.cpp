#include "sampler/process/gdb_jit.h"

#include <algorithm>
#include <unordered_set>

#include "base/clock.h"
#include "base/units.h"
#include "sampler/process/memory_map.h"
#include "sampler/process/module_file.h"
#include "sampler/process/module_image.h"
#include "sampler/process/remote_memory.h"

namespace sampan::sampler {
namespace {

constexpr std::string_view kDescriptor = "__jit_debug_descriptor";
constexpr uint32_t kVersion = 1;
constexpr size_t kMostEntries = 1 << 16;
constexpr size_t kMostSymbols = size_t{256} << 20;  // bytes, of all that is registered
constexpr size_t kLongestName = 4096;
constexpr uint64_t kLongestLook = 100 * kNsPerMs;  // CPU
constexpr uint64_t kLookShare = 100;

template <typename T>
bool read(pid_t pid, Avma avma, T& value) {
  return read_process(pid, avma, &value, sizeof value) == sizeof value;
}

CpuNs own_cpu_ns() {
  return CpuNs::at(read_clock_ns(CLOCK_THREAD_CPUTIME_ID));
}

// 0: the module has none, or exports none and is stripped.
Svma find_descriptor(const ModuleBytes& bytes) {
  for (const uint32_t type : {SHT_DYNSYM, SHT_SYMTAB}) {
    Svma found = 0;
    SymbolTable(bytes, type).for_each([&](const Symbol& symbol) {
      if (symbol.name == kDescriptor) found = symbol.svma;
    });
    if (found != 0) return found;
  }
  return 0;
}

}  // namespace

struct GdbJit::Descriptor {  // struct jit_descriptor
  uint32_t version, action;
  uint64_t relevant_entry, first_entry;
  friend bool operator==(const Descriptor&, const Descriptor&) = default;
};

struct GdbJit::Entry {  // struct jit_code_entry
  uint64_t next, previous, file, file_size;
};

RegisteredCode::RegisteredCode(const SymbolTable& symbols) {
  symbols.for_each([this](const Symbol& symbol) {
    const Avma begin = avma_of(symbol.svma, 0);
    if (!symbol.is_function || symbol.name.empty() || begin + symbol.size <= begin) return;
    functions_.push_back(
        {begin, begin + symbol.size, std::string(symbol.name.substr(0, kLongestName))});
  });
  std::ranges::stable_sort(functions_, {}, &Function::begin);
}

const RegisteredCode::Function* RegisteredCode::find(Avma avma) const {
  const auto after = std::ranges::upper_bound(functions_, avma, {}, &Function::begin);
  if (after == functions_.begin() || avma >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

void GdbJit::find_descriptors() {
  const std::vector<MappedRange> map = read_memory_map(pid_);
  for (const MappedRange& range : map) {
    if (range.inode == 0 || range.offset != 0 ||
        !examined_.emplace(range.device, range.inode, range.start).second) {
      continue;
    }
    const ModuleFile file = open_module(pid_, range, map);
    const Svma svma = find_descriptor(file.bytes);
    const auto layout = svma != 0 ? read_elf_layout(file.bytes) : std::nullopt;
    if (layout) descriptors_.push_back(range.start + (svma - layout->begin()));
  }
}

std::optional<GdbJit::Look> GdbJit::look(MonotonicNs now_ns) {
  if (now_ns < next_ns_) return std::nullopt;
  const MonotonicNs begin_ns = monotonic_ns();
  const CpuNs begin_cpu_ns = own_cpu_ns();
  ++looks_;
  Look look;
  for (const Avma descriptor : descriptors_) {
    look.is_complete &= walk(descriptor, begin_cpu_ns + kLongestLook, look);
  }
  forget_unseen(look.is_complete);
  look.time_ns = now_ns + (monotonic_ns() - begin_ns);
  next_ns_ = look.time_ns + own_cpu_ns().since(begin_cpu_ns) * kLookShare;
  return look;
}

// False: there may be more in the list.
bool GdbJit::walk(Avma descriptor, CpuNs until_cpu_ns, Look& look) {
  Descriptor before, after;
  if (!read(pid_, descriptor, before) || before.version != kVersion) return false;
  std::unordered_set<uint64_t> seen;
  Entry entry;
  for (uint64_t at = before.first_entry; at != 0; at = entry.next) {
    if (seen.size() >= kMostEntries || !seen.insert(at).second || own_cpu_ns() > until_cpu_ns ||
        !read(pid_, Avma::at(at), entry)) {
      return false;
    }
    if (auto code = code_of(at, entry)) look.code.push_back(std::move(code));
  }
  return read(pid_, descriptor, after) && after == before;
}

// Null: its symbols are too many. An entry may be another one than before at the same place, as may
// its file, so the symbols are compared.
std::shared_ptr<const RegisteredCode> GdbJit::code_of(uint64_t at, const Entry& entry) {
  const SymbolTable symbols(bytes_of_process(pid_, {{0, entry.file_size, Avma::at(entry.file)}}),
                            SHT_SYMTAB);
  Known& known = known_[at];
  known.look = looks_;
  const uint64_t hash = symbols.hash();
  if (known.code != nullptr && known.hash == hash) return known.code;
  known_size_ -= known.size;
  known.size = 0;
  known.code = nullptr;
  if (known_size_ + symbols.size() > kMostSymbols) return nullptr;
  known_size_ += known.size = symbols.size();
  known.hash = hash;
  known.code = std::make_shared<const RegisteredCode>(symbols);
  return known.code;
}

void GdbJit::forget_unseen(bool is_complete) {
  if (!is_complete && known_.size() <= kMostEntries) return;
  std::erase_if(known_, [this](const auto& entry) {
    if (entry.second.look == looks_) return false;
    known_size_ -= entry.second.size;
    return true;
  });
}

}  // namespace sampan::sampler
