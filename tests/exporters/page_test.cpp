// The data of profile.html. That the page reads them is tested in tests/viewer and in Chromium.
#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <zlib.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "exporters/formats.h"
#include "exporters/page_data.h"
#include "exporters/page_parts.h"
#include "profile/shown.h"
#include "support/scratch_directory.h"
#include "support/text_profile.h"

namespace sampan::exporters {
namespace {

std::string unbase64(std::string_view text) {
  const std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t group = 0, bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    group = group << 6 | static_cast<uint32_t>(digits.find(c));
    if ((bits += 6) < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits & 0xff);
  }
  return bytes;
}

std::string inflated(std::string_view base64) {
  const std::string bytes = unbase64(base64);
  std::string result(1 << 20, '\0');
  uLongf size = result.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(result.data()), &size,
                       reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()),
            Z_OK);
  result.resize(size);
  return result;
}

// What a page has: its header, and its columns by name.
struct Page {
  explicit Page(const PageData& data) {
    header.Parse(inflated(data.header).c_str());
    const std::string bytes = inflated(data.columns);
    size_t at = 0;
    for (const auto& column : header["columns"].GetArray()) {
      if (column["kind"] == "doubles") {
        for (uint64_t i = 0; i < column["count"].GetUint64() && at + 8 <= bytes.size();
             ++i, at += 8) {
          double value = 0;
          std::memcpy(&value, bytes.data() + at, sizeof value);
          doubles[column["name"].GetString()].push_back(value);
        }
        continue;
      }
      std::vector<int64_t>& values = columns[column["name"].GetString()];
      const bool flags = column["kind"] == "flags";
      for (uint64_t i = 0; i < column["count"].GetUint64(); ++i) {
        values.push_back(flags ? bytes.at(at++) : next_number(bytes, &at, values));
      }
    }
    EXPECT_EQ(at, bytes.size());
  }

  static int64_t next_number(const std::string& bytes, size_t* at,
                             const std::vector<int64_t>& before) {
    uint64_t coded = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes.at((*at)++));
      coded |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) break;
    }
    const int64_t difference = static_cast<int64_t>(coded >> 1) ^ -static_cast<int64_t>(coded & 1);
    return (before.empty() ? 0 : before.back()) + difference;
  }

  std::string string(int64_t handle) const {
    return header["strings"][static_cast<unsigned>(handle)].GetString();
  }
  // "main;work", of a row of the stacks.
  std::string stack(int64_t row) const {
    if (row < 0) return "";
    const auto i = static_cast<size_t>(row);
    const int64_t prefix = columns.at("stacks.prefix")[i];
    EXPECT_LT(prefix, row);
    const std::string name =
        string(columns.at("functions.name")[static_cast<size_t>(columns.at("stacks.func")[i])]);
    return stack(prefix) + (prefix < 0 ? "" : columns.at("stacks.inlined")[i] ? "=>" : ";") + name;
  }

  rapidjson::Document header;
  double sum_of_doubles(const std::string& column) const {
    const std::vector<double>& numbers = doubles.at(column);
    return std::accumulate(numbers.begin(), numbers.end(), 0.0);
  }

  std::map<std::string, std::vector<int64_t>> columns;
  std::map<std::string, std::vector<double>> doubles;
};

TEST(PageColumn, WritesDifferencesInSevenBits) {
  PageColumn column("x");
  for (const int64_t value : std::vector<int64_t>{1, 0, -1, 63, 10'000'000'000}) column.add(value);
  // Differences 1, -1, -1, 64, and 9,999,999,937: zigzag 2, 1, 1, 128, 19,999,999,874.
  EXPECT_EQ(column.bytes(), "\x02\x01\x01\x80\x01\x82\x8f\xdf\xc0\x4a");
  EXPECT_EQ(column.count(), 5u);
}

TEST(PageData, HasTheSamplesOfEachThreadByTime) {
  const profile::Profile profile = test::profile_of(
      "# process 100 /usr/bin/app\n"
      "# thread 100 app\n"
      "main;work@a.c:10:12 2\n"
      " 1\n"
      "# thread 101 worker-1\n"
      "start;outer=>inner 1\n"
      "start;read;~read pipe:[7] 2\n"
      "# thread 102 worker-2\n");
  const Page page(page_data(select(profile), 0));
  EXPECT_EQ(page.columns.at("samples.ofThread"), (std::vector<int64_t>{0, 3, 6, 6}));
  std::vector<std::string> stacks;
  for (const int64_t row : page.columns.at("samples.stack")) stacks.push_back(page.stack(row));
  EXPECT_EQ(stacks,
            (std::vector<std::string>{"main;work", "main;work", "", "start;outer=>inner",
                                      "start;read;[read pipe:[7]]", "start;read;[read pipe:[7]]"}));
  EXPECT_EQ(page.columns.at("samples.waiting"), (std::vector<int64_t>{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(page.columns.at("samples.taken"), std::vector<int64_t>(6, 1));
  EXPECT_EQ(page.columns.at("samples.weightNs"), std::vector<int64_t>(6, test::kSamplePeriod));
  EXPECT_EQ(page.columns.at("stacks.line")[1], 12);
  EXPECT_EQ(page.columns.at("functions.line")[1], 10);
  EXPECT_EQ(page.string(page.columns.at("functions.file")[1]), "a.c");
  EXPECT_EQ(page.columns.at("functions.wait").back(), 1);

  const auto& threads = page.header["threads"];
  ASSERT_EQ(threads.Size(), 3u);
  EXPECT_TRUE(threads[0]["isMain"].GetBool());
  EXPECT_STREQ(threads[1]["name"].GetString(), "worker-1");
  EXPECT_STREQ(threads[1]["pool"].GetString(), "worker");
  EXPECT_EQ(threads[1]["sampledCpuNs"].GetUint64(), test::kSamplePeriod);
  EXPECT_EQ(threads[1]["waitNs"].GetUint64(), 2 * test::kSamplePeriod);
  EXPECT_STREQ(page.header["meta"]["clock"].GetString(), "wall");
  EXPECT_TRUE(page.header["meta"]["diff"].IsNull());
}

TEST(PageData, HasOnlyWhatTheViewHas) {
  const profile::Profile profile = test::profile_of(
      "# process 100 /bin/app\n# thread 100 app\nmain;only_there 1\n# thread 101 "
      "other\nmain;only_here@@/lib/x.so 1\n");
  const PageData data = page_data(select(profile, {.threads = {"other"}}), 0);
  const std::string header = inflated(data.header);
  EXPECT_EQ(header.find("only_there"), std::string::npos);
  EXPECT_NE(header.find("only_here"), std::string::npos);
  EXPECT_EQ(Page(data).header["threads"].Size(), 1u);
}

TEST(PageData, WhatIsImportedSaysWhatItLacks) {
  profile::Profile profile = test::profile_of("main;work 3\n");
  const Page recorded(page_data(select(profile), 0));
  EXPECT_FALSE(recorded.header["meta"]["imported"].GetBool());
  EXPECT_TRUE(recorded.header["meta"]["hasTimes"].GetBool());
  profile.session.engine = "import of folded stacks";
  profile.session.unit = "bytes";
  for (profile::Sample& sample : profile.samples) sample.time_ns = 0;
  const Page imported(page_data(select(profile), 0));
  const auto& header = imported.header;
  EXPECT_TRUE(header["meta"]["imported"].GetBool());
  EXPECT_FALSE(header["meta"]["hasTimes"].GetBool());
  EXPECT_STREQ(header["meta"]["unit"].GetString(), "bytes");
  EXPECT_TRUE(header["meta"]["cpuNs"].IsNull());
}

TEST(PageData, TakesSamplesForOneWhereTheyAreTooMany) {
  std::string text = "# process 100 /bin/app\n# thread 100 app\n";
  for (int i = 0; i < 2000; ++i) text += i % 3 == 0 ? "main;a 1\n" : "main;b 2\n";
  const profile::Profile profile = test::profile_of(text);
  const PageData whole = page_data(select(profile), 0);
  EXPECT_TRUE(whole.notes.empty());
  const uint64_t limit = whole.header.size() + whole.columns.size() * 3 / 4;
  const PageData fitted = page_data(select(profile), limit);
  EXPECT_LE(fitted.columns.size() + fitted.header.size(), limit + 300);
  ASSERT_EQ(fitted.notes.size(), 1u);

  const Page before(whole), after(fitted);
  const auto sum = [](const Page& page, const char* column, int64_t stack) {
    int64_t result = 0;
    for (size_t i = 0; i < page.columns.at("samples.stack").size(); ++i) {
      if (page.columns.at("samples.stack")[i] == stack) result += page.columns.at(column)[i];
    }
    return result;
  };
  EXPECT_LT(after.columns.at("samples.taken").size(), before.columns.at("samples.taken").size());
  for (const int64_t stack : {1, 2}) {
    EXPECT_EQ(sum(after, "samples.taken", stack), sum(before, "samples.taken", stack));
    EXPECT_EQ(sum(after, "samples.weightNs", stack), sum(before, "samples.weightNs", stack));
  }
  EXPECT_EQ(after.header["meta"]["notes"][0].GetString(), fitted.notes[0]);
}

// A thread that also allocated, 3 MiB of which it freed 2, and waited for two locks, one of them twice.
profile::Profile with_heap_and_locks() {
  profile::Profile profile = test::profile_of(
      "# process 100 /bin/app\n# thread 100 app\nmain;work 2\nmain;hold 1\n# thread 101 "
      "worker\nstart;loop 1\n");
  const uint32_t work = profile.samples[0].stack, hold = profile.samples[3].stack;
  for (int i = 0; i < 3; ++i) {
    profile::Block& block = profile.blocks.emplace_back();
    block.time_ns = test::kSamplePeriod;
    block.thread = 0;
    block.stack = work;
    block.size = 1 << 20;
    block.mean = 1;
    if (i != 0) block.freed_ns = 2 * test::kSamplePeriod;
  }
  profile.locks = {{.process = 0, .address = 0x7000}, {.process = 0, .address = 0x7100}};
  for (const uint32_t lock : {0, 0, 1}) {
    profile::LockWait& wait = profile.lock_waits.emplace_back();
    wait.begin_ns = test::kSamplePeriod;
    wait.duration_ns = lock == 0 ? 20'000 : 5'000;
    wait.limit_ns = 10'000;
    wait.thread = 0;
    wait.stack = work;
    wait.lock = lock;
    if (lock == 0) wait.holder_stack = hold;
  }
  return profile;
}

int64_t sum(const std::vector<int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), int64_t{0});
}

TEST(PageData, HasAllTypesOfSamplesThatWereRecorded) {
  const profile::Profile profile = with_heap_and_locks();
  const std::vector<PageData> all = all_page_data(select(profile), 0);
  ASSERT_EQ(all.size(), 4u);
  constexpr const char* kTypes[] = {"cpu", "live", "allocated", "locks"};
  constexpr int64_t kMiB = 1 << 20;
  const int64_t weights[] = {4 * int64_t{test::kSamplePeriod}, 1000 * kMiB, 3000 * kMiB, 50'000};
  for (size_t i = 0; i < all.size(); ++i) {
    const Page page(all[i]);
    EXPECT_EQ(all[i].type, kTypes[i]);
    const auto& types = page.header["meta"]["sampleTypes"];
    EXPECT_STREQ(types["shown"].GetString(), kTypes[i]);
    EXPECT_STREQ(types["first"].GetString(), "cpu");
    EXPECT_EQ(types["all"].Size(), 4u);
    EXPECT_EQ(sum(page.columns.at("samples.weightNs")), weights[i]);
    EXPECT_EQ(page.header["threads"].Size(), 2u);
    EXPECT_EQ(page.columns.contains("spans.name"), i == 0);  // markers are there once
    EXPECT_STREQ(page.header["meta"]["unit"].GetString(), i == 1 || i == 2 ? "bytes" : "");
    EXPECT_EQ(page.header.HasMember("locks"), i == 3);
    EXPECT_EQ(page.header["meta"]["cpuNs"].IsNull(), i != 0);  // no CPU is in blocks and waits
  }
}

TEST(PageData, HasWhatTheViewShowsFirst) {
  profile::Profile profile = with_heap_and_locks();
  show(profile::Shown::kHeap, &profile);
  const std::vector<PageData> all =
      all_page_data(select(profile, {.heap = profile::HeapPart::kAllocated}), 0);
  std::vector<std::string> types;
  for (const PageData& data : all) types.push_back(data.type);
  EXPECT_EQ(types, (std::vector<std::string>{"allocated", "cpu", "live", "locks"}));
  EXPECT_EQ(sum(Page(all[1]).columns.at("samples.weightNs")), 4 * int64_t{test::kSamplePeriod});
  EXPECT_STREQ(Page(all[1]).header["meta"]["clock"].GetString(), profile.session.clock.c_str());
}

TEST(PageData, HasTheSidesOfWaitsForLocks) {
  const profile::Profile profile = with_heap_and_locks();
  const Page page(all_page_data(select(profile), 0)[3]);
  EXPECT_EQ(page.columns.at("samples.longestNs"), (std::vector<int64_t>{20'000, 20'000, 5'000}));
  const auto& locks = page.header["locks"];
  ASSERT_EQ(locks.Size(), 2u);
  EXPECT_STREQ(locks[0]["name"].GetString(), "0x7000");
  EXPECT_STREQ(locks[0]["kind"].GetString(), "mutex");
  const auto& sides = page.header["lockSides"];
  ASSERT_EQ(sides.Size(), 2u);
  const auto side = [&](size_t sample) {
    return static_cast<unsigned>(page.columns.at("samples.side")[sample]);
  };
  EXPECT_EQ(sides[side(2)]["lock"].GetUint(), 1u);
  EXPECT_FALSE(sides[side(2)].HasMember("holder"));
  EXPECT_EQ(side(0), side(1));
  EXPECT_STREQ(sides[side(1)]["waiter"].GetString(), "work");
  EXPECT_STREQ(sides[side(1)]["holder"].GetString(), "hold");
}

TEST(PageData, OfOneTypeSaysNothingOfTypes) {
  const profile::Profile profile = test::profile_of("main;work 3\n");
  const std::vector<PageData> all = all_page_data(select(profile), 0);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].header, page_data(select(profile), 0).header);
  EXPECT_EQ(inflated(all[0].header).find("sampleTypes"), std::string::npos);
}

TEST(PageData, AllTypesTogetherStayWithinTheSize) {
  profile::Profile profile = with_heap_and_locks();
  const profile::LockWait wait = profile.lock_waits[0];
  for (uint32_t i = 0; i < 20'000; ++i) {
    profile.lock_waits.push_back(wait);
    profile.lock_waits.back().begin_ns = SessionNs::at(i * 997'000ULL);
    profile.lock_waits.back().duration_ns = 5'000 + i * 7919 % 50'000;
  }
  const auto bytes = [](const std::vector<PageData>& all) {
    uint64_t size = 0;
    for (const PageData& data : all) size += data.header.size() + data.columns.size();
    return size;
  };
  const std::vector<PageData> whole = all_page_data(select(profile), 0);
  const uint64_t limit = bytes(whole) / 2;
  const std::vector<PageData> fitted = all_page_data(select(profile), limit);
  EXPECT_LE(bytes(fitted), limit + 300);
  ASSERT_EQ(fitted[3].notes.size(), 1u);
  const auto& [before, after] = std::pair(Page(whole[3]), Page(fitted[3]));
  EXPECT_LT(after.columns.at("samples.side").size(), before.columns.at("samples.side").size());
  EXPECT_EQ(sum(after.columns.at("samples.weightNs")), sum(before.columns.at("samples.weightNs")));
  EXPECT_NEAR(after.sum_of_doubles("samples.waits"), before.sum_of_doubles("samples.waits"), 1e-6);
}

TEST(Page, HasNothingOfTheProgramsThatABrowserWouldRun) {
  const test::ScratchDirectory directory;
  const profile::Profile profile = test::profile_of(
      "# process 100 /bin/app\n# thread 100 </script><script>alert(1)//\nmain;f<\"&>\xff 1\n");
  write_html(select(profile), directory.file("page.html"), 0);
  std::ifstream file(directory.file("page.html"), std::ios::binary);
  const std::string html(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(html.find("alert(1)"), std::string::npos);
  size_t ends = 0;
  for (size_t at = 0; (at = html.find("</script", at)) != std::string::npos; ++at) ++ends;
  EXPECT_EQ(ends, 3u);  // the data's two and the script's own
  EXPECT_EQ(html.find("http://"), std::string::npos);
}

}  // namespace
}  // namespace sampan::exporters
