#include "sampler/ptrace/call_chain.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "sampler/process/memory_map.h"
#include "sampler/process/remote_memory.h"

namespace sampan::sampler {
namespace {

constexpr size_t kPiece = 256 * 1024;
constexpr size_t kMostCode = 64 * 1024 * 1024;  // read of one process
constexpr std::string_view kCall("\x0f\x05\xc3", 3);
// As other assemblers encode it, and as Go's does.
constexpr std::string_view kSignalReturn("\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9);
constexpr std::string_view kShortSignalReturn("\xb8\x0f\x00\x00\x00\x0f\x05", 7);

void look_for(std::string_view code, std::string_view text, uint64_t start, uint64_t& found) {
  if (found != 0) return;
  if (const size_t at = text.find(code); at != std::string_view::npos) found = start + at;
}

// The C library is never unloaded and has both; other libraries may be unloaded.
int preference(const MappedRange& range, const std::string& program) {
  const std::string_view name = std::string_view(range.path).substr(range.path.rfind('/') + 1);
  if (name.starts_with("libc.so") || name.starts_with("libc-") || name.starts_with("ld-musl")) {
    return 0;
  }
  if (range.path == program) return 1;
  return range.path == "[vdso]" ? 2 : 3;
}

constexpr size_t kAlignment = 64;  // of what XRSTOR reads
constexpr size_t kFrameSize = 320;
// The kernel's struct ucontext ends with a mask of 64 signals.
constexpr size_t kContextSize = offsetof(ucontext_t, uc_sigmask) + sizeof(uint64_t);
static_assert(sizeof(uint64_t) + kContextSize <= kFrameSize);

// arch/x86/include/uapi/asm/ucontext.h
constexpr uint64_t kHasXstate = 1, kHasSs = 2, kStrictSs = 4;
// No mode of sigaltstack(2): the kernel leaves the thread's alternate stack as it is.
constexpr int kKeepAlternateStack = 0x7fff;

// struct _fpx_sw_bytes of arch/x86/include/uapi/asm/sigcontext.h, in the vector state at 464.
constexpr size_t kSoftwareBytes = 464;
constexpr uint32_t kMagic1 = 0x46505853, kMagic2 = 0x46505845;
struct SoftwareBytes {
  uint32_t magic;
  uint32_t extended_size;
  uint64_t features;
  uint32_t state_size;
};
constexpr size_t kHeader = 512, kSmallestState = kHeader + 64;
constexpr uint64_t kTileData = uint64_t{1} << 18;  // AMX: only where the process has asked for it

// How far the components `features` reach, in the standard layout (CPUID 0xd).
uint32_t size_of(uint64_t features) {
  uint32_t end = kSmallestState;
  for (unsigned component = 2; component < 63; ++component) {
    if ((features >> component & 1) == 0) continue;
    uint32_t size = 0, offset = 0, flags = 0, reserved = 0;
    if (__get_cpuid_count(0xd, component, &size, &offset, &flags, &reserved) == 0) continue;
    end = std::max(end, offset + size);
  }
  return end;
}

// The vector state as a signal frame has it: described in its unused bytes, and closed by a mark.
std::vector<std::byte> in_signal_frame(std::vector<std::byte> state) {
  uint64_t enabled = 0, in_use = 0;
  std::memcpy(&enabled, &state[kSoftwareBytes], sizeof enabled);  // XCR0, says the regset
  std::memcpy(&in_use, &state[kHeader], sizeof in_use);           // XSTATE_BV
  const uint64_t features = (in_use & kTileData) != 0 ? enabled : enabled & ~kTileData;
  const uint32_t size = std::min(size_of(features), static_cast<uint32_t>(state.size()));
  const SoftwareBytes description{kMagic1, size + uint32_t{sizeof kMagic2}, features, size};
  std::memcpy(&state[kSoftwareBytes], &description, sizeof description);
  state.resize(std::max(state.size(), size_t{size} + sizeof kMagic2));
  std::memcpy(&state[size], &kMagic2, sizeof kMagic2);
  return state;
}

size_t aligned(size_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

void set_registers(ucontext_t& context, const user_regs_struct& from) {
  const auto set = [&](int number, uint64_t value) {
    context.uc_mcontext.gregs[number] = static_cast<greg_t>(value);
  };
  set(REG_R8, from.r8), set(REG_R9, from.r9), set(REG_R10, from.r10), set(REG_R11, from.r11);
  set(REG_R12, from.r12), set(REG_R13, from.r13), set(REG_R14, from.r14), set(REG_R15, from.r15);
  set(REG_RDI, from.rdi), set(REG_RSI, from.rsi), set(REG_RBP, from.rbp), set(REG_RBX, from.rbx);
  set(REG_RDX, from.rdx), set(REG_RAX, from.rax), set(REG_RCX, from.rcx), set(REG_RSP, from.rsp);
  set(REG_RIP, from.rip), set(REG_EFL, from.eflags);
  set(REG_CSGSFS, (from.cs & 0xffff) | (from.ss & 0xffff) << 48);
}

}  // namespace

std::optional<CallSite> find_call_site(pid_t pid) {
  std::vector<MappedRange> ranges = read_memory_map(pid);
  if (ranges.empty()) return std::nullopt;
  const std::string program = ranges.front().path;
  std::erase_if(ranges, [](const MappedRange& range) {
    return !range.executable || (range.inode == 0 && range.path != "[vdso]");
  });
  std::stable_sort(ranges.begin(), ranges.end(), [&](const auto& a, const auto& b) {
    return preference(a, program) < preference(b, program);
  });

  CallSite site{};
  uint64_t short_return = 0;
  size_t left = kMostCode;
  std::vector<char> piece(kPiece);
  for (const MappedRange& range : ranges) {
    if (preference(range, program) > 2) break;  // might be unloaded while we rely on it
    for (uint64_t at = range.start; at < range.end && left > 0;) {
      piece.resize(std::min<size_t>(kPiece, range.end - at));
      const size_t size = read_process(pid, Avma::at(at), piece.data(), piece.size());
      if (size == 0) break;
      const std::string_view text(piece.data(), size);
      look_for(kCall, text, at, site.call);
      look_for(kSignalReturn, text, at, site.signal_return);
      look_for(kShortSignalReturn, text, at, short_return);
      if (site.call != 0 && site.signal_return != 0) return site;
      left -= std::min(left, size);
      if (at + size >= range.end) break;
      at += size > kPiece / 2 ? size - kSignalReturn.size() : size;  // one may lie across the seam
    }
  }
  if (site.signal_return == 0) site.signal_return = short_return;
  if (site.call == 0 || site.signal_return == 0) return std::nullopt;
  return site;
}

CallChain::CallChain(uint64_t base, size_t most_calls) : base_(base), most_calls_(most_calls) {}

uint64_t CallChain::frame_avma(size_t call) const {
  return base_ + call * kFrameSize;
}

uint64_t CallChain::place(std::span<const std::byte> bytes) {
  data_.resize(aligned(data_.size()));
  const uint64_t avma = frame_avma(most_calls_) + data_.size();
  data_.insert(data_.end(), bytes.begin(), bytes.end());
  return avma;
}

size_t CallChain::add(long system_call, std::initializer_list<uint64_t> arguments) {
  Call call{static_cast<uint64_t>(system_call), {}};
  std::copy(arguments.begin(), arguments.end(), call.arguments);
  calls_.push_back(call);
  return calls_.size() - 1;
}

uint64_t CallChain::first_argument_avma(size_t call) const {
  return frame_avma(call - 1) + sizeof(uint64_t) + offsetof(ucontext_t, uc_mcontext.gregs) +
         REG_RDI * sizeof(greg_t);
}

CallChain::Image CallChain::finish(const CallSite& site, const ThreadState& state,
                                   int let_through) {
  const uint64_t vectors = place(in_signal_frame(state.vectors));
  const uint64_t blocked = ~(uint64_t{1} << (let_through - 1));
  const auto registers_for = [&](size_t index) {
    user_regs_struct registers = state.registers;
    registers.orig_rax = ~0ull;  // no system call is under way
    if (index == calls_.size()) return registers;
    const Call& call = calls_[index];
    registers.rip = site.call;
    registers.rsp = frame_avma(index);
    registers.eflags &= ~0x400ull;  // the direction that C code expects
    registers.rax = call.number;
    registers.rdi = call.arguments[0], registers.rsi = call.arguments[1];
    registers.rdx = call.arguments[2], registers.r10 = call.arguments[3];
    registers.r8 = call.arguments[4], registers.r9 = call.arguments[5];
    return registers;
  };

  Image image{base_, std::vector<std::byte>(most_calls_ * kFrameSize), registers_for(0)};
  for (size_t i = 0; i < calls_.size(); ++i) {
    std::byte* const frame = &image.bytes[i * kFrameSize];
    std::memcpy(frame, &site.signal_return, sizeof site.signal_return);
    ucontext_t context{};
    context.uc_flags = kHasXstate | kHasSs | kStrictSs;
    context.uc_stack.ss_flags = kKeepAlternateStack;
    set_registers(context, registers_for(i + 1));
    std::memcpy(&context.uc_mcontext.fpregs, &vectors, sizeof vectors);
    const uint64_t mask = i + 1 == calls_.size() ? state.signal_mask : blocked;
    std::memcpy(&context.uc_sigmask, &mask, sizeof mask);
    std::memcpy(frame + sizeof(uint64_t), &context, kContextSize);
  }
  image.bytes.insert(image.bytes.end(), data_.begin(), data_.end());
  return image;
}

size_t CallChain::largest_size(size_t calls, size_t placed) {
  constexpr size_t kLargestVectors = 16384;  // AMX: 11 KB
  return aligned(calls * kFrameSize + placed) + kLargestVectors;
}

bool may_host_calls(const user_regs_struct& registers) {
  const auto result = static_cast<int64_t>(registers.rax);
  const bool in_call = static_cast<int64_t>(registers.orig_rax) >= 0;
  constexpr int kRestartFirst = 512, kRestartLast = 530;  // include/linux/errno.h
  return !in_call || result > -kRestartFirst || result < -kRestartLast;
}

}  // namespace sampan::sampler
