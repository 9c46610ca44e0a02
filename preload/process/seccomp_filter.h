// What a seccomp filter answers to a system call, found out before it is installed: classic BPF over
// struct seccomp_data (linux/seccomp.h), as net/core/filter.c and kernel/seccomp.c run it.
//
// Freestanding: linked into the target.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <span>

namespace sampan::preload {

// SECCOMP_RET_…: KILL_PROCESS for a program that the kernel would refuse.
uint32_t filter_answer(std::span<const sock_filter> program, const seccomp_data& call);

// Whether the answer is to run the call. `instruction`: where it comes from, behind the instruction.
bool filter_allows(std::span<const sock_filter> program, int number, uint64_t first_argument = 0,
                   uint64_t instruction = 0);

}  // namespace sampan::preload
