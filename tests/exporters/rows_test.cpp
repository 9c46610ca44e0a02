// Formats that are rows of text: perf script, CSV. Text in, text out.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "base/text/csv_row.h"
#include "exporters/formats.h"
#include "reports/report.h"
#include "support/scratch_directory.h"
#include "support/text_markers.h"
#include "support/text_profile.h"

namespace sampan::exporters {
namespace {

using Write = Outcome (*)(const profile::View&, const std::string&, uint64_t);

std::string written(Write write, const profile::View& view, uint64_t max_size = 0) {
  const test::ScratchDirectory directory;
  write(view, directory.file("x"), max_size);
  std::ifstream file(directory.file("x"));
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(PerfScript, HasThreadAndPeriodAndFrames) {
  const profile::Profile profile = test::profile_of(
      "main;outer=>inner 1\n 1\n# thread 101 w\nf@@/lib/my lib.so 1\n# thread 102 pool 7\nf 1\n");
  EXPECT_EQ(written(write_perf_script, select(profile)),
            "app 100/100      0.004000:    4000000 cpu-clock:\n"
            "\t            1010 inner (inlined)\n"
            "\t            1010 outer (/bin/app)\n"
            "\t            1000 main (/bin/app)\n\n"
            "app 100/100      0.008000:    4000000 cpu-clock:\n"
            "\t               0 [unknown] ([unknown])\n\n"
            "w  100/101      0.004000:    4000000 cpu-clock:\n"
            "\t            1020 f (/lib/my_lib.so)\n\n"
            "pool_7 100/102      0.004000:    4000000 cpu-clock:\n"
            "\t            1030 f (/bin/app)\n\n");
}

TEST(PerfScript, KeepsToItsSizeAndItsSum) {
  const profile::Profile profile = test::profile_of("main;f 5000\nmain;g 3000\n");
  const std::string whole = written(write_perf_script, select(profile));
  const std::string small = written(write_perf_script, select(profile), whole.size() / 10);
  EXPECT_LE(small.size(), whole.size() / 10);
  const auto period_of = [](const std::string& text) {
    uint64_t sum = 0;
    for (size_t i = 0; (i = text.find(": ", i)) != std::string::npos; ++i) {
      sum += std::stoull(text.substr(i + 2));
    }
    return sum;
  };
  EXPECT_EQ(period_of(small), 8000 * test::kSamplePeriod);
}

TEST(CsvText, IsOneCell) {
  EXPECT_EQ(csv_text("main"), "main");
  EXPECT_EQ(csv_text("f(a, \"b\")"), "\"f(a, \"\"b\"\")\"");
  EXPECT_EQ(csv_text("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_text("=cmd|'/c calc'!A0"), "'=cmd|'/c calc'!A0");
  EXPECT_EQ(csv_text("@plt,x"), "\"'@plt,x\"");
  EXPECT_EQ(csv_text("bad\xff"), "bad\xef\xbf\xbd");
  EXPECT_EQ(csv_text(""), "");
}

TEST(Csv, HasFunctions) {
  const profile::Profile profile =
      test::profile_of("main@a.c:1:5;std::map<int, char>::find@map.h:2:9 3\nmain@a.c:1:6 1\n");
  EXPECT_EQ(written(write_csv, select(profile)),
            "function,module,file,line,self_s,total_s,self_samples,total_samples\n"
            "\"std::map<int, char>::find\",/bin/app,map.h,2,0.012000000,0.012000000,3,3\n"
            "main,/bin/app,a.c,1,0.004000000,0.016000000,1,4\n");
}

TEST(Csv, HasThreads) {
  const profile::Profile profile = test::profile_of(
      "main 2\nmain;~read pipe:[7] 3\n...;lost 1\n# thread 101 w-1\nf 1\n# thread 102 w-2\nf 1\n");
  const std::string titles =
      "process,pid,thread,tid,cpu_s,sampled_cpu_s,waiting_s,runnable_s,samples,complete_samples\n";
  EXPECT_EQ(written(write_csv_threads, select(profile)),
            titles +
                "app,100,app,100,0.012000000,0.012000000,0.012000000,0.000000000,6,5\n"
                "app,100,w-1,101,0.004000000,0.004000000,0.000000000,0.000000000,1,1\n"
                "app,100,w-2,102,0.004000000,0.004000000,0.000000000,0.000000000,1,1\n");
  profile::Selection pools;
  pools.merge = profile::Merge::kPool;
  pools.state = profile::State::kCpu;
  EXPECT_EQ(written(write_csv_threads, select(profile, pools)),
            titles +
                "app,100,app,100,,0.012000000,0.000000000,0.000000000,3,2\n"
                "app,100,w,101,,0.008000000,0.000000000,0.000000000,2,2\n");
}

constexpr const char* kSampleTitles =
    "time_s,weight_s,samples,state,process,pid,thread,tid,task,function,file,line,module,stack\n";

TEST(Csv, HasSamples) {
  const profile::Profile profile =
      test::profile_of("main@a.c:1:5;f@b.c:2:3 1\nmain@a.c:1:5;~futex 1\n 1\n");
  EXPECT_EQ(written(write_csv_samples, select(profile)),
            std::string(kSampleTitles) +
                "0.004000000,0.004000000,1,cpu,app,100,app,100,,f,b.c,3,/bin/app,main;f\n"
                "0.008000000,0.004000000,1,waiting,app,100,app,100,,[futex],,0,,main;[futex]\n"
                "0.012000000,0.004000000,1,cpu,app,100,app,100,,[unknown],,0,,\n");
}

TEST(Csv, HasTheTasksOfSamples) {
  profile::Profile profile = test::profile_of("main@a.c:1:5 3\n");
  test::add_markers(&profile,
                    "step 100 4 5 task id=1 task=7 name=a,b text=work\n"
                    "step 100 8 9 task id=2 task=8 name=Task-2 text=work\n");
  EXPECT_EQ(written(write_csv_samples, select(profile)),
            std::string(kSampleTitles) +
                "0.004000000,0.004000000,1,cpu,app,100,app,100,\"a,b\",main,a.c,5,/bin/app,main\n"
                "0.008000000,0.004000000,1,cpu,app,100,app,100,work,main,a.c,5,/bin/app,main\n"
                "0.012000000,0.004000000,1,cpu,app,100,app,100,,main,a.c,5,/bin/app,main\n");
}

TEST(Json, IsTheReport) {
  const profile::Profile profile = test::profile_of("main;f 2\n");
  EXPECT_EQ(written(write_json, select(profile)), reports::json(select(profile)));
}

}  // namespace
}  // namespace sampan::exporters
