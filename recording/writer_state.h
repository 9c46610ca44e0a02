// The inside of a Writer: what it knows of the session, and the rows of the present file for it.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recording/kept_stacks.h"
#include "recording/living_blocks.h"
#include "recording/row_file.h"
#include "recording/session_rows.h"
#include "recording/writer.h"

namespace sampan::recording {

struct SessionProcess {
  Process row;
  uint64_t earlier_cpu_ns = 0;  // in the segments before
  Losses losses = {};
  uint64_t left_out = 0;                                   // living blocks, of later files
  uint32_t lost_thread = kNone;                            // in place of forgotten ones
  std::optional<WatchChange> watched[kWatchedCount] = {};  // the latest
  std::vector<uint32_t> locks = {};                        // handles
};

struct SessionThread {
  Thread row;                                  // with the session's index of its process
  uint64_t earlier_cpu_ns = 0;                 // in the segments before
  uint64_t cpu_rest_ns = 0, wait_rest_ns = 0;  // remainders of weights, below 1 µs
};

struct SessionLock {
  Lock row;                            // with the session's index of its process
  std::optional<Frame> frame, origin;  // with the session's modules
};

inline uint64_t without(uint64_t earlier, uint64_t all) {
  return all - std::min(earlier, all);
}

// The part of `all` that was not taken before.
inline uint64_t take(uint64_t all, uint64_t* taken) {
  const uint64_t rest = without(*taken, all);
  *taken += rest;
  return rest;
}

struct Writer::State {
  State(const std::string& path, const Session& its_session, std::span<const Origin> origins)
      : session(its_session),
        file(std::make_unique<RowFile>(path, session, origins, std::nullopt)) {}

  // Rows of the current file by handle; in the first file they are equal.
  uint32_t process(uint32_t index) {
    if (index == kNone) return kNone;
    auto* known = processes.find(index);
    if (known == nullptr) return segment.number == 0 ? index : file->lost_process();
    if (known->in_file == kNone) known->in_file = file->add(known->row, index, known->losses);
    return known->in_file;
  }
  uint32_t thread(uint32_t index) {
    if (index == kNone) return kNone;
    auto* known = threads.find(index);
    if (known == nullptr) return segment.number == 0 ? index : file->lost_thread();
    if (known->in_file == kNone) {
      Thread row = known->row;
      row.process = process(row.process);
      known->in_file = file->add(row, index);
    }
    return known->in_file;
  }
  uint32_t module(uint32_t index) {
    if (index == kNone) return kNone;
    uint32_t& row = module_rows[index];
    if (row == kNone) row = file->add(modules[index]);
    return row;
  }

  uint32_t lock(uint32_t index) {
    auto* known = locks.find(index);
    if (known == nullptr) return segment.number == 0 ? index : file->lost_lock();
    if (known->in_file == kNone) {
      const auto row_of = [&](const std::optional<Frame>& its) {
        return its ? frame(*its, nullptr) : kNone;
      };
      Lock row = known->row;
      row.process = process(row.process);
      row.frame = row_of(known->frame);
      row.origin = row_of(known->origin);
      known->in_file = file->add(row);
    }
    return known->in_file;
  }
  uint32_t frame(const Frame& frame, const FrameName* name) {
    const uint32_t row = file->frame({module(frame.module), frame.address}, name);
    if (kept) kept->add(row, frame);
    if (kept && name != nullptr) kept->name(row, *name);
    return row;
  }
  uint32_t stack(uint32_t prefix, uint32_t frame) {
    const uint32_t row = file->stack(prefix, frame);
    if (kept) kept->add(row, Stack{prefix, frame});
    return row;
  }

  void write(ThreadEnd end) {
    if (auto* known = threads.find(end.thread); known != nullptr && end.cpu_ns) {
      end.cpu_ns = take(*end.cpu_ns, &known->earlier_cpu_ns);
    }
    end.thread = thread(end.thread);
    file->add(end);
  }
  void write(ProcessEnd end) {
    if (auto* known = processes.find(end.process); known != nullptr && end.cpu_ns) {
      end.cpu_ns = take(*end.cpu_ns, &known->earlier_cpu_ns);
    }
    ended_cpu_ns += end.cpu_ns.value_or(0);
    end.process = process(end.process);
    file->add(end);
  }

  template <typename Row>
  void add_marker(std::vector<Row> Markers::*rows, Row row) {
    if constexpr (requires { row.process; }) row.process = process(row.process);
    if constexpr (requires { row.thread; }) row.thread = thread(row.thread);
    if constexpr (requires { row.end_thread; }) row.end_thread = thread(row.end_thread);
    file->add_marker(rows, row);
  }

  // The process of a thread, if its end is still to come.
  uint32_t living_process(uint32_t index) {
    const auto* known = threads.find(index);
    if (known == nullptr) return kNone;
    const auto* its = processes.find(known->row.process);
    return its == nullptr || its->ended ? kNone : known->row.process;
  }
  // The thread, or one in place of it if it is forgotten.
  uint32_t known_thread(uint32_t index, uint32_t process) {
    if (threads.find(index) != nullptr) return index;
    uint32_t& lost = processes.find(process)->lost_thread;
    if (lost == kNone) lost = threads.add({Thread{.process = process, .name = kLostName}}, kNone);
    return lost;
  }
  void write(const Losses& losses) {
    Losses row = losses;
    row.process = process(losses.process);
    file->add(row);
  }

  void begin_file() {
    std::fill(module_rows.begin(), module_rows.end(), kNone);
    if (rate) file->add(at_begin(*rate));
    if (cost) file->add(at_begin(*cost));
    const std::vector<uint32_t> living = processes.begin_file();
    for (const uint32_t index : living) process(index);
    for (const uint32_t index : threads.begin_file()) thread(index);
    locks.begin_file();
    for (const uint32_t index : living) begin_process(index, processes.find(index));
  }
  void begin_process(uint32_t index, SessionProcess* its) {
    for (std::optional<WatchChange>& change : its->watched) {
      if (!change) continue;
      WatchChange row = at_begin(*change);
      row.process = process(index);
      file->add(row);
    }
    if (const uint64_t dropped = blocks.take_dropped(index); dropped > 0) {
      its->losses.process = index;
      its->left_out += dropped;
      its->losses.count[static_cast<unsigned>(wire::Loss::kAllocationLost)] += dropped;
      write(its->losses);
    }
  }

  template <typename Row>
  Row at_begin(Row row) const {
    row.time_ns = segment.begin_ns;
    return row;
  }

  Session session;
  Segment segment;
  std::optional<RateChange> rate;  // the latest
  std::optional<Cost> cost;
  std::unique_ptr<RowFile> file;
  uint64_t samples = 0;       // of the files before
  uint64_t ended_cpu_ns = 0;  // of all ends of processes
  MonotonicNs last_flush_ns = 0;
  SessionRows<SessionProcess> processes;
  SessionRows<SessionThread> threads;
  Interner<Module> modules;
  std::vector<uint32_t> module_rows;  // in the present file, or kNone
  SessionRows<SessionLock> locks;
  std::optional<KeptStacks> kept;
  LivingBlocks blocks;        // if stacks are kept
  std::vector<Frame> frames;  // of the stack that is looked up
};

}  // namespace sampan::recording
