#include "preload/process/seccomp_filter.h"

#include <string.h>

#include "preload/support/machine.h"

namespace sampan::preload {
namespace {

constexpr uint32_t kRefused = SECCOMP_RET_KILL_PROCESS;

// What one instruction does to the machine: A, X and the scratch memory.
struct Machine {
  uint32_t a, x;
  uint32_t memory[BPF_MEMWORDS];
};

bool load(Machine& machine, const sock_filter& code, const seccomp_data& call, uint32_t& into) {
  switch (BPF_MODE(code.code)) {
    case BPF_ABS:
      if (code.k % 4 != 0 || code.k > sizeof call - 4) return false;
      memcpy(&into, reinterpret_cast<const char*>(&call) + code.k, sizeof into);
      return true;
    case BPF_LEN: return into = sizeof call, true;
    case BPF_IMM: return into = code.k, true;
    case BPF_MEM:
      if (code.k >= BPF_MEMWORDS) return false;
      return into = machine.memory[code.k], true;
    default: return false;
  }
}

bool calculate(uint32_t& a, uint32_t operation, uint32_t value) {
  switch (operation) {
    case BPF_ADD: return a += value, true;
    case BPF_SUB: return a -= value, true;
    case BPF_MUL: return a *= value, true;
    case BPF_DIV: return value != 0 && (a /= value, true);
    case BPF_AND: return a &= value, true;
    case BPF_OR: return a |= value, true;
    case BPF_XOR: return a ^= value, true;
    case BPF_LSH: return a = value < 32 ? a << value : 0, true;
    case BPF_RSH: return a = value < 32 ? a >> value : 0, true;
    case BPF_NEG: return a = 0 - a, true;
    default: return false;
  }
}

// How many instructions to skip; -1: not a jump of seccomp's.
int64_t skip(const Machine& machine, const sock_filter& code) {
  const uint32_t value = BPF_SRC(code.code) == BPF_X ? machine.x : code.k;
  const auto by = [&](bool holds) { return holds ? code.jt : code.jf; };
  switch (BPF_OP(code.code)) {
    case BPF_JA: return code.k;
    case BPF_JEQ: return by(machine.a == value);
    case BPF_JGT: return by(machine.a > value);
    case BPF_JGE: return by(machine.a >= value);
    case BPF_JSET: return by((machine.a & value) != 0);
    default: return -1;
  }
}

}  // namespace

uint32_t filter_answer(std::span<const sock_filter> program, const seccomp_data& call) {
  Machine machine{};
  // Jumps lead forward only, so it ends.
  for (uint64_t at = 0; at < program.size(); ++at) {
    const sock_filter& code = program[at];
    const uint32_t value = BPF_SRC(code.code) == BPF_X ? machine.x : code.k;
    switch (BPF_CLASS(code.code)) {
      case BPF_LD:
        if (!load(machine, code, call, machine.a)) return kRefused;
        break;
      case BPF_LDX:
        if (!load(machine, code, call, machine.x)) return kRefused;
        break;
      case BPF_ST:
      case BPF_STX:
        if (code.k >= BPF_MEMWORDS) return kRefused;
        machine.memory[code.k] = BPF_CLASS(code.code) == BPF_ST ? machine.a : machine.x;
        break;
      case BPF_ALU:
        if (!calculate(machine.a, BPF_OP(code.code), value)) return kRefused;
        break;
      case BPF_JMP: {
        const int64_t skipped = skip(machine, code);
        if (skipped < 0) return kRefused;
        at += static_cast<uint64_t>(skipped);
        break;
      }
      case BPF_RET: return BPF_RVAL(code.code) == BPF_A ? machine.a : code.k;
      default:  // BPF_MISC
        if (BPF_MISCOP(code.code) == BPF_TAX) {
          machine.x = machine.a;
        } else {
          machine.a = machine.x;
        }
    }
  }
  return kRefused;
}

bool filter_allows(std::span<const sock_filter> program, int number, uint64_t first_argument,
                   uint64_t instruction) {
  const seccomp_data call{number, kAuditArchitecture, instruction, {first_argument}};
  const uint32_t answer = filter_answer(program, call) & SECCOMP_RET_ACTION_FULL;
  return answer == SECCOMP_RET_ALLOW || answer == SECCOMP_RET_LOG;
}

}  // namespace sampan::preload
