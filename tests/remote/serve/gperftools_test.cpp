#include "remote/serve/gperftools.h"
#include "base/units.h"

#include <gtest/gtest.h>

#include <cstring>

#include "fake_source.h"

namespace sampan::serve {
namespace {

std::vector<uint64_t> words(const std::string& bytes, size_t count) {
  std::vector<uint64_t> result(count);
  EXPECT_GE(bytes.size(), count * 8);
  std::memcpy(result.data(), bytes.data(), count * 8);
  return result;
}

// Frames without a module keep their addresses: 0x20 calls 0x10.
recording::Recording known() {
  recording::Recording recording = program({"main"});
  recording.frames = {{recording::kNone, 0x20}, {recording::kNone, 0x10}};
  recording.stacks = {{recording::kNone, 0}, {0, 1}};
  return recording;
}

TEST(Gperftools, HeaderSamplesAndTrailer) {
  recording::Recording recording = known();
  recording.samples = {{.thread = 0, .stack = 0, .time_ns = 1, .weight_ns = 2 * kNsPerMs},
                       {.thread = 0, .stack = 1, .time_ns = 2, .weight_ns = 3 * kNsPerMs}};
  KnownNames names({});
  const std::vector<uint64_t> expected = {0, 3, 0,    1000, 0,  // header: period in µs
                                          2, 1, 0x20,           // two samples of one frame
                                          3, 2, 0x10, 0x21,     // a caller's return address
                                          0, 1, 0};             // trailer
  const std::string bytes = gperftools_profile(recording, names);
  EXPECT_EQ(words(bytes, expected.size()), expected);
  EXPECT_EQ(bytes.size(), expected.size() * 8) << "no modules, no maps";
}

TEST(Gperftools, CarriesOverPartsOfMilliseconds) {
  recording::Recording recording = known();
  recording.samples = {{.thread = 0, .stack = 0, .time_ns = 1, .weight_ns = kNsPerMs / 2},
                       {.thread = 0, .stack = 1, .time_ns = 2, .weight_ns = kNsPerMs / 2}};
  KnownNames names({});
  EXPECT_EQ(words(gperftools_profile(recording, names), 9),
            (std::vector<uint64_t>{0, 3, 0, 1000, 0, 1, 2, 0x10, 0x21}));
}

TEST(Gperftools, LeavesWaitingOut) {
  recording::Recording recording = known();
  recording.waits = {{"read", ""}};
  recording.samples = {{.thread = 0, .stack = 0, .time_ns = 1, .weight_ns = kNsPerMs, .wait = 0}};
  KnownNames names({});
  EXPECT_EQ(words(gperftools_profile(recording, names), 8),
            (std::vector<uint64_t>{0, 3, 0, 1000, 0, 0, 1, 0}));
}

TEST(Gperftools, KnowsTheFunctionsOfAnInterpreter) {
  recording::Recording recording = known();
  recording.frames = {{recording::kNone, wire::kPythonFrame | 0x20},
                      {recording::kNone, wire::kPythonFrame | 0x10}};
  recording.names.texts = {"", "Service.run", "pack"};
  recording.names.functions = {{1, 0, 3, recording::kNone}, {2, 0, 9, recording::kNone}};
  recording.names.frames = {{0, 1}, {1, 1}};
  recording.names.lines = {{0, 0, 4}, {1, 0, 10}};
  KnownNames names({});
  names.learn(recording);
  EXPECT_EQ(gperftools_symbols("0x4000000000000020+0x4000000000000010+0x4000000000000011", names),
            "0x4000000000000020\tService.run\n0x4000000000000010\tpack\n");
  EXPECT_EQ(gperftools_symbols("", names), "num_symbols: 2\n");
}

TEST(Gperftools, InvalidAddressesHaveNoNames) {
  KnownNames names({});
  EXPECT_EQ(gperftools_symbols("", names), "num_symbols: 1\n");
  for (const char* const text :
       {"0x10", "0x", "+++", "nonsense+0xfffffffffffffffff", "0x10+0x20", "\n"}) {
    EXPECT_EQ(gperftools_symbols(text, names), "") << text;
  }
}

}  // namespace
}  // namespace sampan::serve
