// What sampan exports comes back; and files that other programs write, made by hand.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <protozero/pbf_writer.hpp>

#include "exporters/formats.h"
#include "importers/imported.h"
#include "profile/unit.h"
#include "support/scratch_directory.h"
#include "support/text_profile.h"

namespace sampan::importers {
namespace {

using protozero::pbf_writer;

constexpr const char* kExported =
    "main@app.c:10:12;work@app.c:20:25 3\n"
    "main@app.c:10:13;outer@app.c:40:41=>inner@app.h:1:2 2\n"
    "main@app.c:10:12;memcpy@@/lib/libc.so 4\n"
    "main@app.c:10:12;run@w.py:3:5:9@[python] 1\n"
    "# thread 101 worker\nstart@app.c:70:71;work@app.c:20:25 5\n"
    "# process 200 /bin/other\n# thread 200 other\nmain@other.c:1:2 6\n";

std::string file_of(const profile::Profile& profile,
                    exporters::Outcome (*write)(const profile::View&, const std::string&,
                                                uint64_t)) {
  const test::ScratchDirectory directory;
  write(select(profile), directory.file("x"), 0);
  std::ifstream file(directory.file("x"), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Pprof, WhatIsExportedComesBack) {
  const profile::Profile before = test::profile_of(kExported);
  const profile::Profile after = load_bytes(file_of(before, exporters::write_pprof));
  EXPECT_EQ(after.session.unit, "");
  EXPECT_EQ(test::text_of(select(after)), test::text_of(select(before)));
  EXPECT_EQ(after.session.start_unix_ns, before.session.start_unix_ns);
  const auto place_of = [](const profile::Profile& profile, std::string_view name) {
    for (const profile::Line& line : profile.lines) {
      if (profile::function_name(profile, line.function) != name) continue;
      const profile::Function& function = profile.functions[line.function];
      return fmt::format("{}:{}:{}", profile.strings[function.file], function.line, line.line);
    }
    return std::string();
  };
  EXPECT_EQ(place_of(after, "work"), "app.c:20:25");
  EXPECT_EQ(place_of(after, "inner"), place_of(before, "inner"));
}

TEST(Pprof, TheTextOfPerfScriptComesBack) {
  const profile::Profile before = test::profile_of(kExported);
  const profile::Profile after = load_bytes(file_of(before, exporters::write_perf_script));
  EXPECT_EQ(stacks_of(after), stacks_of(before));
  EXPECT_EQ(after.samples.size(), before.samples.size());
  for (size_t i = 0; i < after.threads.size(); ++i) {
    EXPECT_EQ(after.threads[i].sampled_cpu_ns, before.threads[i].sampled_cpu_ns);
  }
}

// A heap profile of Go: four values, no threads.
std::string go_heap(int64_t value = 2048, int64_t text_of_type = 3) {
  std::string bytes;
  pbf_writer file(bytes);
  const auto value_type = [&](int64_t type, int64_t unit) {
    pbf_writer message(file, 1);
    message.add_int64(1, type);
    message.add_int64(2, unit);
  };
  value_type(1, 2);             // alloc_objects count
  value_type(text_of_type, 4);  // inuse_space bytes
  {
    pbf_writer sample(file, 2);
    const std::vector<uint64_t> locations = {1};
    const std::vector<int64_t> values = {7, value};
    sample.add_packed_uint64(1, locations.begin(), locations.end());
    sample.add_packed_int64(2, values.begin(), values.end());
  }
  {
    pbf_writer location(file, 4);
    location.add_uint64(1, 1);
    location.add_uint64(3, 0x4711);
    pbf_writer line(location, 4);
    line.add_uint64(1, 1);
    line.add_int64(2, 33);
  }
  {
    pbf_writer function(file, 5);
    function.add_uint64(1, 1);
    function.add_int64(2, 5);
    function.add_int64(4, 6);
  }
  for (const char* text :
       {"", "alloc_objects", "count", "inuse_space", "bytes", "main.make", "main.go"}) {
    file.add_string(6, text);
  }
  return bytes;
}

TEST(Pprof, TheLastValueIsTheUsualOne) {
  const profile::Profile profile = load_bytes(go_heap());
  EXPECT_EQ(profile.session.unit, "bytes");
  EXPECT_EQ(stacks_of(profile).at("all;main.make"), (Sum{1, 2048 * profile::kWeightOfOne}));
  const profile::Profile objects = load_bytes(go_heap(), "", {.weight = "alloc_objects"});
  EXPECT_EQ(objects.session.unit, "alloc_objects");
  EXPECT_EQ(stacks_of(objects).at("all;main.make").weight, 7 * profile::kWeightOfOne);
}

TEST(Pprof, WhatIsWrongIsSaid) {
  EXPECT_EQ(error_of(go_heap(-1)),
            "a sample has a negative value: it is the difference of two profiles");
  EXPECT_EQ(error_of(go_heap(INT64_MAX)), "a value is too large");
  EXPECT_EQ(error_of(go_heap(1, 77)), "a text has the number 77, of 7");
  EXPECT_EQ(error_of(go_heap(), "", {.weight = "cpu"}),
            "it has no value 'cpu' (it has: alloc_objects, inuse_space)");
}

TEST(Pprof, EveryByteMayBeWrong) {
  const std::string heap = go_heap();
  for (size_t i = 0; i < heap.size(); ++i) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string damaged = heap;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      error_of(damaged, "pprof");
    }
    error_of(heap.substr(0, i), "pprof");
  }
}

}  // namespace
}  // namespace sampan::importers
