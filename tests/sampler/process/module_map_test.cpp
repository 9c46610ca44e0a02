#include "sampler/process/module_map.h"

#include <gtest/gtest.h>

namespace sampan::sampler {
namespace {

using recording::Frame;
using recording::kNone;

ModuleLoadRecord load(MonotonicNs time, uint64_t bias, Avma start, Avma end) {
  return {time, bias, start, end, {}, "", {}};
}

TEST(ModuleMap, KnowsModulesByTheirBounds) {
  ModuleMap map;
  map.load(load(10, 0x1000, 0x2000, 0x3000), 1);
  map.load(load(10, 0x1000, 0x3000, 0x4000), 2);
  EXPECT_EQ(map.lookup(0x1fff, 20), (Frame{kNone, 0x1fff}));
  EXPECT_EQ(map.lookup(0x2000, 20), (Frame{1, 0x1000}));
  EXPECT_EQ(map.lookup(0x2fff, 20), (Frame{1, 0x1fff}));
  EXPECT_EQ(map.lookup(0x3000, 20), (Frame{2, 0x2000}));
  EXPECT_EQ(map.lookup(0x4000, 20), (Frame{kNone, 0x4000}));
}

TEST(ModuleMap, TellsModulesAtTheSamePlaceApartByTime) {
  ModuleMap map;
  map.load(load(10, 0x1000, 0x2000, 0x3000), 1);
  map.unload({20, 0x1000, 0x2000});
  map.load(load(30, 0x2000, 0x2000, 0x2800), 2);
  EXPECT_EQ(map.lookup(0x2100, 15), (Frame{1, 0x1100}));
  EXPECT_EQ(map.lookup(0x2100, 35), (Frame{2, 0x100}));
  EXPECT_EQ(map.lookup(0x2900, 35), (Frame{1, 0x1900})) << "only one was ever there";
}

TEST(ModuleMap, PrefersTheModuleToComeWhereThereWasNone) {
  ModuleMap map;
  map.load(load(10, 0x1000, 0x2000, 0x3000), 1);
  map.unload({20, 0x1000, 0x2000});
  map.load(load(30, 0x2000, 0x2000, 0x3000), 2);
  EXPECT_EQ(map.lookup(0x2100, 25).module, 2u) << "dlopen runs constructors before it returns";
  EXPECT_EQ(map.lookup(0x2100, 5).module, 1u);
  map.unload({40, 0x2000, 0x2000});
  EXPECT_EQ(map.lookup(0x2100, 45).module, 2u) << "the last one that was there";
}

TEST(ModuleMap, LooksPastShorterModulesThatBeginLater) {
  ModuleMap map;
  map.load(load(10, 0, 0x1000, 0x9000), 1);
  map.load(load(10, 0, 0x2000, 0x3000), 2);  // a hole in the first is used
  EXPECT_EQ(map.lookup(0x8000, 20).module, 1u);
  EXPECT_EQ(map.lookup(0x2800, 20).module, 2u);
}

TEST(ModuleMap, APartOfAFileReachesNoFurther) {
  ModuleMap map;
  ModuleLoadRecord record = load(10, 0x100000, 0x101000, 0x109000);
  record.part = {0x103000, 0x105000};
  map.load(record, 1);
  EXPECT_EQ(map.lookup(0x102fff, 20).module, kNone);
  EXPECT_EQ(map.lookup(0x103000, 20), (Frame{1, 0x3000}));
  EXPECT_EQ(map.lookup(0x105000, 20).module, kNone);
  map.unload({30, 0x100000, record.first_avma()});
  map.load(load(30, 0x2000, 0x103000, 0x105000), 2);
  EXPECT_EQ(map.lookup(0x103000, 40).module, 2u);
}

TEST(ModuleMap, StaysBoundedAndKeepsWhatIsLoaded) {
  ModuleMap map;
  map.load(load(1, 0, 0x1000, 0x2000), 1);
  for (uint64_t i = 0; i < 10000; ++i) {
    map.load(load(MonotonicNs(10) + 2 * i, 0, 0x5000, 0x6000), 2);
    map.unload({MonotonicNs(11) + 2 * i, 0, 0x5000});
  }
  EXPECT_EQ(map.lookup(0x1800, 50000).module, 1u);
}

}  // namespace
}  // namespace sampan::sampler
