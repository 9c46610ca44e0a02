// Files as `perf record` writes them, made by hand: each container, each kind of stack. Real ones are in tests/e2e.
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include "importers/imported.h"
#include "importers/kernel_symbols.h"
#include "importers/mapped_files.h"
#include "profile/frames.h"
#include "profile/unit.h"
#include "sampler/process/remote_memory.h"
#include "symbolizer/symbolizer.h"
#include "unwind/registers.h"

namespace sampan::importers {
namespace {

constexpr uint64_t kSampleType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                 PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;
constexpr uint64_t kKernel = static_cast<uint64_t>(PERF_CONTEXT_KERNEL),
                   kUser = static_cast<uint64_t>(PERF_CONTEXT_USER);
constexpr const char* kProgram = "/no such file/app";

class Bytes {
 public:
  template <typename T>
  Bytes& add(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& add_text(std::string_view text, size_t size) {
    text_.append(text).append(size - text.size(), '\0');
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string record(uint32_t type, uint16_t misc, const std::string& body) {
  return Bytes()
             .add(type)
             .add(misc)
             .add(static_cast<uint16_t>(body.size() + sizeof(perf_event_header)))
             .text() +
         body;
}

// pid, tid, time, identifier.
std::string trailer(int32_t pid, int32_t tid, uint64_t time_ns, uint64_t id = 1) {
  return Bytes().add(pid).add(tid).add(time_ns).add(id).text();
}

std::string comm(int32_t pid, int32_t tid, std::string_view name, uint64_t time_ns,
                 bool exec = false) {
  return record(PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0,
                Bytes().add(pid).add(tid).add_text(name, 16).text() + trailer(pid, tid, time_ns));
}

std::string mapping(int32_t pid, uint64_t begin, uint64_t size, uint64_t offset,
                    std::string_view path, uint64_t time_ns, uint32_t protection = 5) {
  Bytes body;
  body.add(pid).add(pid).add(begin).add(size).add(offset);
  body.add(uint64_t{0}).add(uint64_t{0}).add(uint64_t{0}).add(protection).add(uint32_t{2});
  body.add_text(path, (path.size() + 8) & ~size_t{7});
  return record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, body.text() + trailer(pid, pid, time_ns));
}

std::string fork_record(int32_t pid, int32_t parent, int32_t tid, int32_t parent_tid,
                        uint64_t time_ns) {
  return record(PERF_RECORD_FORK, 0,
                Bytes().add(pid).add(parent).add(tid).add(parent_tid).add(time_ns).text() +
                    trailer(pid, tid, time_ns));
}

std::string sample(int32_t pid, int32_t tid, uint64_t time_ns, const std::vector<uint64_t>& chain,
                   uint64_t period = 1'000'000, uint64_t id = 1, const std::string& more = "") {
  Bytes body;
  body.add(id).add(chain.size() > 1 ? chain[1] : 0).add(pid).add(tid).add(time_ns).add(period);
  body.add(uint64_t{chain.size()});
  for (const uint64_t ip : chain) body.add(ip);
  const bool in_kernel = !chain.empty() && chain[0] == kKernel;
  return record(PERF_RECORD_SAMPLE, in_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
                body.text() + more);
}

perf_event_attr clock_attributes() {
  perf_event_attr attributes = {};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.sample_type = kSampleType;
  attributes.freq = 1;
  attributes.sample_freq = 1000;
  attributes.sample_id_all = 1;
  return attributes;
}

// Written to disk; each event has one id, from 1.
std::string file_of(const std::string& data,
                    const std::vector<perf_event_attr>& events = {clock_attributes()}) {
  constexpr uint64_t kHeader = 104, kSection = 16;
  const uint64_t entry = sizeof(perf_event_attr) + kSection;
  const uint64_t ids = kHeader + events.size() * entry, begin = ids + 8 * events.size();
  Bytes file;
  file.add_text("PERFILE2", 8).add(kHeader).add(entry);
  file.add(kHeader).add(events.size() * entry).add(begin).add(uint64_t{data.size()});
  for (int i = 0; i < 6; ++i) file.add(uint64_t{0});
  for (uint64_t i = 0; i < events.size(); ++i)
    file.add(events[i]).add(ids + 8 * i).add(uint64_t{8});
  for (uint64_t i = 0; i < events.size(); ++i) file.add(i + 1);
  return file.text() + data;
}

// Written to a pipe.
std::string pipe_of(const std::string& data) {
  return Bytes().add_text("PERFILE2", 8).add(uint64_t{16}).text() +
         record(64, 0, Bytes().add(clock_attributes()).add(uint64_t{1}).text()) + data;
}

// In records of the compressed form, each of `piece` bytes: records span several of them.
std::string compressed(const std::string& data, size_t piece, bool padded) {
  std::string all(ZSTD_compressBound(data.size()), '\0');
  all.resize(ZSTD_compress(all.data(), all.size(), data.data(), data.size(), 1));
  std::string records;
  for (size_t at = 0; at < all.size(); at += piece) {
    const std::string part = all.substr(at, piece);
    records += padded ? record(83, 0,
                               Bytes()
                                   .add(uint64_t{part.size()})
                                   .add_text(part, (part.size() + 7) & ~size_t{7})
                                   .text())
                      : record(81, 0, part);
  }
  return records;
}

// A program with a worker; records of two CPUs, so that their times are not in order.
std::string two_threads() {
  return comm(100, 100, "app", 0) + mapping(100, 0x400000, 0x10000, 0x1000, kProgram, 0) +
         fork_record(100, 100, 101, 100, 1'500) + comm(100, 101, "worker", 1'600) +
         sample(100, 101, 3'000'000, {kUser, 0x400100, 0x400201}) +
         sample(100, 100, 1'000'000, {kUser, 0x400110, 0x400201}) +
         sample(100, 100, 2'000'000, {kKernel, 0xffffffff81000010, kUser, 0x400120, 0x400201}) +
         record(PERF_RECORD_LOST, 0,
                Bytes().add(uint64_t{1}).add(uint64_t{7}).text() + trailer(100, 100, 4'000'000));
}

void expect_two_threads(const profile::Profile& profile) {
  EXPECT_EQ(profile.session.unit, "");
  EXPECT_EQ(profile.session.rate_hz, 1000u);
  const auto stacks = stacks_of(profile);
  ASSERT_EQ(stacks.size(), 3u);
  // A return address is after its call; the leaf of the user's part is exact.
  EXPECT_EQ(stacks.at("worker;app+0x1200;app+0x1100"), (Sum{1, 1'000'000}));
  EXPECT_EQ(stacks.at("app;app+0x1200;app+0x1110"), (Sum{1, 1'000'000}));
  EXPECT_EQ(stacks.at("app;app+0x1200;app+0x1120;[kernel]"), (Sum{1, 1'000'000}));
  EXPECT_EQ(profile.samples[0].time_ns, 998'500u);  // since the fork, the first record with a time
  EXPECT_EQ(profile.losses[static_cast<size_t>(wire::Loss::kRingFull)], 7u);
}

TEST(PerfData, EachContainerHasTheSame) {
  const std::string data = two_threads();
  expect_two_threads(load_bytes(file_of(data)));
  expect_two_threads(load_bytes(pipe_of(data)));
  for (const bool padded : {false, true}) {
    for (const size_t piece : {size_t{16}, size_t{100'000}}) {
      expect_two_threads(
          load_bytes(file_of(compressed(data, std::min<size_t>(piece, 60'000), padded))));
      expect_two_threads(
          load_bytes(pipe_of(compressed(data, std::min<size_t>(piece, 60'000), padded))));
    }
  }
}

TEST(PerfData, AnExecIsANewImage) {
  const profile::Profile profile = load_bytes(
      file_of(comm(100, 100, "sh", 1) + mapping(100, 0x400000, 0x1000, 0, "/no such file/sh", 2) +
              fork_record(200, 100, 200, 100, 3) + sample(200, 200, 4, {kUser, 0x400010}) +
              comm(200, 200, "app", 5, true) + sample(200, 200, 6, {kUser, 0x400010}) +
              mapping(200, 0x400000, 0x1000, 0, "/no such file/app", 7) +
              sample(200, 200, 8, {kUser, 0x400010})));
  const auto stacks = stacks_of(profile);
  EXPECT_TRUE(stacks.contains("sh;sh+0x10"));     // the memory of the parent
  EXPECT_TRUE(stacks.contains("app;+0x400010"));  // nothing is mapped
  EXPECT_TRUE(stacks.contains("app;app+0x10"));
  ASSERT_EQ(profile.processes.size(), 2u);
  EXPECT_EQ(profile.processes[1].parent_pid, 100);
}

TEST(PerfData, ALaterMappingReplacesAnEarlierOne) {
  const auto stacks = stacks_of(
      load_bytes(file_of(comm(1, 1, "app", 1) + mapping(1, 0x1000, 0x3000, 0, "/a", 2) +
                         mapping(1, 0x2000, 0x1000, 0, "/b", 3) +
                         mapping(1, 0x2000, 0x1000, 0, "/data", 4, 3) +  // no code
                         sample(1, 1, 5, {kUser, 0x1010}) + sample(1, 1, 6, {kUser, 0x2010}) +
                         sample(1, 1, 7, {kUser, 0x3010}))));
  EXPECT_TRUE(stacks.contains("app;a+0x10"));
  EXPECT_TRUE(stacks.contains("app;b+0x10"));
  EXPECT_TRUE(stacks.contains("app;a+0x2010"));
}

// By frame pointers, words that are no addresses come into a chain.
TEST(PerfData, NoWordIsAPythonFunction) {
  const profile::Profile profile = load_bytes(
      file_of(comm(1, 1, "app", 1) + sample(1, 1, 5, {kUser, 0x1010, 0x4141414141414141})));
  for (const profile::Location& location : profile.locations) {
    EXPECT_FALSE(profile::is_python(location));
  }
  EXPECT_EQ(stacks_of(profile).at("app;+0x0;+0x1010"), (Sum{1, 1'000'000}));
}

TEST(PerfData, OneOfSeveralEventsIsImported) {
  perf_event_attr cycles = clock_attributes();
  cycles.type = PERF_TYPE_HARDWARE;
  cycles.config = PERF_COUNT_HW_CPU_CYCLES;
  const std::string file = file_of(
      comm(1, 1, "app", 1) + sample(1, 1, 5, {kUser, 0x1010}, 4711, 2) +
          sample(1, 1, 6, {kUser, 0x1010}, 1, 2) + sample(1, 1, 7, {kUser, 0x1020}, 1'000'000, 1),
      {clock_attributes(), cycles});
  const profile::Profile usual = load_bytes(file);
  EXPECT_EQ(usual.session.unit, "cycles");
  EXPECT_EQ(usual.end->note,
            "1 sample of the event cpu-clock left out: --weight cpu-clock imports them");
  EXPECT_EQ(stacks_of(usual).at("app;+0x1010"), (Sum{2, 4712 * profile::kWeightOfOne}));
  const profile::Profile clock = load_bytes(file, "", {.weight = "cpu-clock"});
  EXPECT_EQ(clock.session.unit, "");
  EXPECT_EQ(stacks_of(clock).at("app;+0x1020"), (Sum{1, 1'000'000}));
  EXPECT_EQ(error_of(file, "", {.weight = "branches"}),
            "it has no event 'branches' (it has: cpu-clock, cycles)");
}

// Newest first: the end of the last call is the function of the leaf.
std::string last_branches(bool with_index) {
  Bytes more;
  more.add(uint64_t{2});
  if (with_index) more.add(uint64_t{5});
  more.add(uint64_t{0x400210}).add(uint64_t{0x400100}).add(uint64_t{0});
  more.add(uint64_t{0x400310}).add(uint64_t{0x400200}).add(uint64_t{0});
  return more.text();
}

TEST(PerfData, LastBranchesAreCalls) {
  perf_event_attr attributes = clock_attributes();
  attributes.sample_type |= PERF_SAMPLE_BRANCH_STACK;
  for (const uint64_t index : {uint64_t{0}, uint64_t{PERF_SAMPLE_BRANCH_HW_INDEX}}) {
    const std::string more = last_branches(index != 0);
    const std::string data = comm(1, 1, "app", 0) + mapping(1, 0x400000, 0x10000, 0, kProgram, 0) +
                             sample(1, 1, 1, {}, 1'000'000, 1, more) +
                             sample(1, 1, 2, {kKernel, 0xffffffff81000010}, 1'000'000, 1, more) +
                             sample(1, 1, 3, {kUser, 0x400120, 0x400321}, 1'000'000, 1, more);
    attributes.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK | index;
    const auto calls = stacks_of(load_bytes(file_of(data, {attributes})));
    EXPECT_EQ(calls.at("app;app+0x310;app+0x210;app+0x100"), (Sum{2, 2'000'000}));
    EXPECT_EQ(calls.at("app;app+0x310;app+0x210;app+0x100;[kernel]"), (Sum{1, 1'000'000}));
    // Branches of another kind are no stack.
    attributes.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY | index;
    const auto chains = stacks_of(load_bytes(file_of(data, {attributes})));
    EXPECT_TRUE(chains.contains("app;app+0x320;app+0x120"));
  }
}

// In pipes, names of events come in a record, as the section of a file has them.
TEST(PerfData, TracepointsAreCountedByName) {
  perf_event_attr attributes = clock_attributes();
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.config = 314;
  attributes.freq = 0;
  attributes.sample_period = 1;
  attributes.sample_type |= PERF_SAMPLE_RAW;
  const std::string raw = Bytes().add(uint32_t{12}).add_text("twelve bytes", 12).text();
  const std::string data = comm(1, 1, "app", 0) + sample(1, 1, 1, {kUser, 0x1010}, 1, 1, raw) +
                           sample(1, 1, 2, {kUser, 0x1010}, 1, 1, raw);
  constexpr uint64_t kDescriptions = 12;
  Bytes names;
  names.add(kDescriptions).add(uint32_t{1}).add(uint32_t{sizeof attributes}).add(attributes);
  names.add(uint32_t{1}).add(uint32_t{24}).add_text("sched:sched_switch", 24).add(uint64_t{1});
  const profile::Profile profile =
      load_bytes(Bytes().add_text("PERFILE2", 8).add(uint64_t{16}).text() +
                 record(64, 0, Bytes().add(attributes).add(uint64_t{1}).text()) +
                 record(80, 0, names.text()) + data);
  EXPECT_EQ(profile.session.unit, "sched:sched_switch");
  EXPECT_EQ(stacks_of(profile).at("app;+0x1010"), (Sum{2, 2 * profile::kWeightOfOne}));
  EXPECT_EQ(load_bytes(file_of(data, {attributes})).session.unit, "event 2:0x13a");
}

uint64_t stack_end() {
  pthread_attr_t attributes;
  void* low = nullptr;
  size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  return reinterpret_cast<uint64_t>(low) + size;
}

// This test's own stack, as the kernel copies it.
[[gnu::noinline]] std::string copied_stack_of_the_caller(int depth) {
  if (depth > 0) {
    std::string file = copied_stack_of_the_caller(depth - 1);
    asm volatile("" : : : "memory");  // no tail call
    return file;
  }
  ucontext_t context;
  getcontext(&context);
  const unwind::Registers registers = unwind::registers_of(context);
  std::map<uint8_t, uint64_t> in_kernel_order;
  uint64_t mask = 0;
  for (unsigned number = 0; number < unwind::kRegisterCount; ++number) {
    in_kernel_order[unwind::kPerfNumbers[number]] = registers.value[number];
    mask |= uint64_t{1} << unwind::kPerfNumbers[number];
  }
  constexpr uint64_t kMost = 48 << 10;  // a record has 64 KB at most
  const uint64_t size = std::min(kMost, stack_end() - registers.value[unwind::kSp]) & ~uint64_t{7};
  Bytes more;
  more.add(uint64_t{PERF_SAMPLE_REGS_ABI_64});
  for (const auto& [number, value] : in_kernel_order) more.add(value);
  // By the kernel: for AddressSanitizer, parts of it are no memory of ours.
  std::string stack(size, '\0');
  sampler::read_process(getpid(), Avma::at(registers.value[unwind::kSp]), stack.data(), size);
  more.add(size).add_text(stack, size).add(size);
  perf_event_attr attributes = clock_attributes();
  attributes.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attributes.sample_regs_user = mask;
  attributes.sample_stack_user = static_cast<uint32_t>(size);
  std::string data = comm(1, 1, "app", 1);
  std::ifstream maps("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  for (const sampler::MappedRange& range : parse_maps(text)) {
    data += mapping(1, range.start, range.end - range.start, range.offset, range.path, 2);
  }
  data += sample(1, 1, 3, {kUser, registers.value[unwind::kPc]}, 1'000'000, 1, more.text());
  return file_of(data, {attributes});
}

TEST(PerfData, CopiesOfStacksAreWalked) {
  constexpr int kDepth = 5;
  profile::Profile profile = load_bytes(copied_stack_of_the_caller(kDepth));
  symbolizer::symbolize(profile);
  int found = 0;
  const auto stacks = stacks_of(profile);
  ASSERT_EQ(stacks.size(), 1u);
  const std::string& stack = stacks.begin()->first;
  for (size_t at = 0; (at = stack.find("copied_stack_of_the_caller", at)) != std::string::npos;
       ++at)
    ++found;
  EXPECT_EQ(found, kDepth + 1) << stack;
  EXPECT_NE(stack.find("CopiesOfStacksAreWalked"), std::string::npos) << stack;
}

TEST(PerfData, WhatIsBehindTheRecordsIsLeftOutAndSaid) {
  const profile::Profile profile =
      load_bytes(pipe_of(two_threads() + "[ perf record: Woken up 1 times ]"));
  expect_two_threads(profile);
  ASSERT_TRUE(profile.end);
  EXPECT_EQ(profile.end->note,
            "the last 33 bytes of the file are no whole record, and are left out");
}

TEST(PerfData, EveryByteMayBeWrong) {
  for (const std::string& whole : {file_of(two_threads()), pipe_of(two_threads()),
                                   file_of(compressed(two_threads(), 64, true))}) {
    for (size_t i = 0; i < whole.size(); i += 3) {
      for (const int change : {0x01, 0x80, 0xff}) {
        std::string damaged = whole;
        damaged[i] = static_cast<char>(damaged[i] ^ change);
        error_of(damaged, "perf-data");
      }
      error_of(whole.substr(0, i), "perf-data");
    }
  }
  EXPECT_EQ(error_of("2ELIFREP" + std::string(100, '\0')),
            "it is of a machine with another byte order");
}

// perf makes the record of the kernel up, and since perf 7 gives it no protection.
TEST(PerfData, TheKernelsFunctionsHaveNamesWhateverTheProtectionOfItsRecord) {
  std::ifstream symbols("/proc/kallsyms");
  std::string address, kind, name;
  while (symbols >> address >> kind >> name && name != "_text") {
  }
  const uint64_t text = name == "_text" ? std::stoull(address, nullptr, 16) : 0;
  if (text == 0) GTEST_SKIP() << "NOT TESTED: the kernel does not tell where its code is";
  for (const uint32_t protection : {0u, 5u}) {
    const auto stacks = stacks_of(load_bytes(
        file_of(comm(1, 1, "app", 1) +
                mapping(-1, text, 0x100000, text, "[kernel.kallsyms]_text", 2, protection) +
                sample(1, 1, 3, {kKernel, text}))));
    ASSERT_EQ(stacks.size(), 1u);
    EXPECT_EQ(stacks.begin()->first.find("[kernel]"), std::string::npos) << stacks.begin()->first;
  }
}

TEST(KernelSymbols, AreThoseOfThisBoot) {
  constexpr std::string_view kText =
      "ffffffff81000000 T _text\nffffffff81000100 t do_read\nffffffff81000100 t alias\n"
      "ffffffff81000200 d data\nffffffff81000300 T do_write\t[module]\n";
  const KernelSymbols symbols(kText, "_text", 0xffffffff81000000);
  EXPECT_EQ(symbols.name(0xffffffff81000100), "do_read");
  EXPECT_EQ(symbols.name(0xffffffff810002ff), "do_read");
  EXPECT_EQ(symbols.name(0xffffffff81000300), "do_write");
  EXPECT_EQ(symbols.name(0x1000), "");
  EXPECT_TRUE(KernelSymbols(kText, "_text", 0xffffffff82000000).empty());
  EXPECT_TRUE(KernelSymbols("0 T _text\n0 t do_read\n", "_text", 0).empty());
}

}  // namespace
}  // namespace sampan::importers
