// A CPU that others take away: as long as this lives, the thread has one, and shares it with three processes that compute.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>

#include <optional>

#include "sampler/child.h"

class TakenCpu {
 public:
  TakenCpu() {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    EXPECT_EQ(sched_getaffinity(0, sizeof before_, &before_), 0);
    EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    for (auto& child : others_) child.emplace(compute);  // each on our CPU, too
  }
  ~TakenCpu() { sched_setaffinity(0, sizeof before_, &before_); }
  TakenCpu(const TakenCpu&) = delete;
  TakenCpu& operator=(const TakenCpu&) = delete;

 private:
  static void compute() {
    for (volatile bool always = true; always;) continue;
  }

  cpu_set_t before_{};
  std::optional<Child> others_[3];
};
