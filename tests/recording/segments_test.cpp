#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/units.h"
#include "recording/complete_file.h"
#include "recording/example.h"
#include "recording/segments.h"

namespace sampan::recording {
namespace {

// A session of three segments of a second each. `worker` uses 100 ms of CPU in each, of which a
// sample of 90 ms tells; `late` lives in the second segment alone; `idle` says nothing at all.
class Segments : public testing::Test {
 protected:
  Segments() : writer_(path(0), example_session()) {
    process_ = writer_.add(Process{4711, 1, 0, "/usr/bin/app"});
    worker_ = writer_.add(Thread{process_, 4711, 0, "app"});
    idle_ = writer_.add(Thread{process_, 4712, 0, "idle"});
    module_ = writer_.add(Module{"/usr/bin/app", {1}, 0, 0x1000});
    sample(0);
    writer_.add(ThreadName{worker_, 600 * kNsPerMs, "worker"});
    lose(2);
    section(200 * kNsPerMs, kNsPerSecond, Closed::kBySegmentEnd);
    writer_.add(Pause{900 * kNsPerMs, kNsPerSecond, process_});
    rotate(1);
    late_ = writer_.add(Thread{process_, 4713, 1100 * kNsPerMs, "late"});
    sample(1);
    lose(7);
    section(kNsPerSecond, 2 * kNsPerSecond, Closed::kBySegmentEnd);
    writer_.add(Pause{kNsPerSecond, 1200 * kNsPerMs, process_});
    writer_.add(ThreadEnd{late_, 1500 * kNsPerMs, 5 * kNsPerMs});
    rotate(2);
    sample(2);
    section(2 * kNsPerSecond, 2300 * kNsPerMs, Closed::kByProgram);
    Span span;
    span.begin_ns = 500 * kNsPerMs;
    span.end_ns = 2600 * kNsPerMs;
    span.id = 1;
    span.name = writer_.text("long");
    span.thread = late_;
    span.end_thread = worker_;
    writer_.add(span);
    writer_.add(ThreadEnd{worker_, 3 * kNsPerSecond, 300 * kNsPerMs});
    writer_.add(ProcessEnd{process_, 3 * kNsPerSecond, 330 * kNsPerMs, 0, {}});
    SessionEnd end;
    end.time_ns = 3 * kNsPerSecond;
    end.exit_status = 0;
    end.user_cpu_ns = 300 * kNsPerMs;
    end.system_cpu_ns = 40 * kNsPerMs;
    end.instructions = 7;
    writer_.finish(end);
  }

  std::string path(uint32_t number) const { return directory_.file(segment_file_name(number)); }
  Recording segment(uint32_t number) const { return read(path(number)); }

  static SessionNs at(uint64_t second) { return SessionNs::at(second * kNsPerSecond); }
  void sample(uint64_t second) {
    const Frame frames[] = {{module_, 0x10 + second}, {module_, 0x10}};
    writer_.add(
        Sample{worker_, writer_.stack(frames), at(second) + 500 * kNsPerMs, 90 * kNsPerMs, {}});
  }
  void lose(uint64_t count) {
    Losses losses{.process = process_};
    losses.count[0] = count;
    writer_.add(losses);
  }
  void section(SessionNs begin_ns, SessionNs end_ns, Closed closed) {
    writer_.add(Section{begin_ns, end_ns, process_, kNone, writer_.text("request"), closed});
  }
  void rotate(uint64_t second) {
    writer_.account(ThreadEnd{worker_, at(second), second * 100 * kNsPerMs});
    writer_.account(ThreadEnd{idle_, at(second), 0});
    ProcessEnd so_far{process_, at(second), second * 110 * kNsPerMs, {}, {}};
    so_far.lives_on = true;
    writer_.account(so_far);
    writer_.rotate(path(static_cast<uint32_t>(second)), at(second));
  }

  test::ScratchDirectory directory_;
  Writer writer_;
  uint32_t process_, worker_, idle_, late_ = kNone, module_;
};

template <typename Rows>
std::map<std::string, uint64_t> cpu_by_name(const Recording& recording, const Rows& ends) {
  std::map<std::string, uint64_t> cpu_ns;
  for (const ThreadEnd& end : ends) {
    cpu_ns[recording.threads[end.thread].name] = end.cpu_ns.value_or(UINT64_MAX);
  }
  return cpu_ns;
}

using Cpu = std::map<std::string, uint64_t>;

TEST_F(Segments, EachIsWholeByItself) {
  for (uint32_t number = 0; number < 3; ++number) {
    const Recording recording = rebased(segment(number));
    EXPECT_TRUE(recording.damage.empty());
    EXPECT_FALSE(recording.segment);
    EXPECT_EQ(recording.session.start_unix_ns,
              example_session().start_unix_ns + number * kNsPerSecond);
    ASSERT_TRUE(recording.end);
    EXPECT_EQ(recording.end->time_ns, kNsPerSecond);
    ASSERT_EQ(recording.processes.size(), 1u);
    ASSERT_EQ(recording.process_ends.size(), 1u);
    EXPECT_EQ(recording.process_ends[0].cpu_ns, 110 * kNsPerMs);
    EXPECT_EQ(recording.process_ends[0].lives_on, number < 2);
    EXPECT_EQ(recording.process_ends[0].time_ns, kNsPerSecond);
    ASSERT_EQ(recording.samples.size(), 1u);
    EXPECT_EQ(recording.samples[0].time_ns, 500 * kNsPerMs);
    EXPECT_EQ(recording.modules.size(), 1u);
    EXPECT_EQ(recording.frames.size(), number == 0 ? 1u : 2u);
    ASSERT_EQ(recording.markers.sections.size(), 1u);
  }
  EXPECT_EQ(rebased(segment(2)).end->user_cpu_ns + rebased(segment(2)).end->system_cpu_ns,
            340 * kNsPerMs - 2 * 110 * kNsPerMs);
  EXPECT_FALSE(rebased(segment(2)).end->instructions);  // they are of all segments
  EXPECT_EQ(rebased(segment(1)).losses.back().count[0], 5u);
  EXPECT_TRUE(segment(2).losses.empty());
}

TEST_F(Segments, ThreadsThatLiveAreInAllAndOthersWhereTheyAreSpokenOf) {
  const Recording first = segment(0), second = segment(1), third = segment(2);
  EXPECT_EQ(cpu_by_name(first, first.thread_ends), (Cpu{{"app", 100 * kNsPerMs}, {"idle", 0}}));
  EXPECT_EQ(cpu_by_name(second, second.thread_ends),
            (Cpu{{"worker", 100 * kNsPerMs}, {"idle", 0}, {"late", 5 * kNsPerMs}}));
  EXPECT_EQ(cpu_by_name(third, third.thread_ends), (Cpu{{"worker", 100 * kNsPerMs}}));
  // Only a span speaks of `late`.
  ASSERT_EQ(third.threads.size(), 3u);
  EXPECT_EQ(third.threads[third.markers.spans[0].thread].name, "late");
  EXPECT_EQ(rebased(third).markers.spans[0].begin_ns, 0u);
}

TEST_F(Segments, JoinToTheWholeSession) {
  const Recording whole = read_segments(segment_files(directory_.file("")));
  EXPECT_TRUE(whole.damage.empty());
  EXPECT_EQ(whole.session.start_unix_ns, example_session().start_unix_ns);
  ASSERT_EQ(whole.processes.size(), 1u);
  ASSERT_EQ(whole.threads.size(), 3u);
  EXPECT_EQ(whole.thread_names.size(), 1u);
  EXPECT_EQ(whole.samples.size(), 3u);
  EXPECT_EQ(whole.frames.size(), 3u);
  ASSERT_EQ(whole.process_ends.size(), 1u);
  EXPECT_EQ(whole.process_ends[0].cpu_ns, 330 * kNsPerMs);
  EXPECT_EQ(whole.process_ends[0].exit_status, 0);
  EXPECT_FALSE(whole.process_ends[0].lives_on);
  // `idle` is in the last segment, which says nothing of its end.
  EXPECT_EQ(cpu_by_name(whole, whole.thread_ends),
            (Cpu{{"app", 300 * kNsPerMs}, {"late", 5 * kNsPerMs}}));
  EXPECT_EQ(whole.losses.back().count[0], 7u);
  EXPECT_TRUE(whole.earlier_losses.empty());
  ASSERT_EQ(whole.markers.sections.size(), 1u);
  EXPECT_EQ(whole.markers.sections[0].begin_ns, 200 * kNsPerMs);
  EXPECT_EQ(whole.markers.sections[0].end_ns, 2300 * kNsPerMs);
  EXPECT_EQ(whole.markers.sections[0].closed, Closed::kByProgram);
  ASSERT_EQ(whole.markers.pauses.size(), 1u);
  EXPECT_EQ(whole.markers.pauses[0].end_ns, 1200 * kNsPerMs);
  EXPECT_EQ(whole.end->user_cpu_ns, 300 * kNsPerMs);
  EXPECT_EQ(whole.end->instructions, 7u);
}

TEST_F(Segments, JoinWithoutTheFirstAsIfTheSessionHadBegunLater) {
  std::vector<std::string> files = segment_files(directory_.file(""));
  files.erase(files.begin());
  const Recording rest = rebased(read_segments(files));
  EXPECT_TRUE(rest.damage.empty());
  EXPECT_EQ(rest.process_ends[0].cpu_ns, 220 * kNsPerMs);
  EXPECT_EQ(rest.process_ends[0].time_ns, 2 * kNsPerSecond);
  EXPECT_EQ(rest.end->user_cpu_ns + rest.end->system_cpu_ns, 340 * kNsPerMs - 110 * kNsPerMs);
  EXPECT_EQ(rest.samples[0].time_ns, 500 * kNsPerMs);
  EXPECT_EQ(rest.threads[0].name, "worker");
  EXPECT_EQ(rest.losses.back().count[0], 5u);
}

TEST_F(Segments, OneThatIsMissingIsSaid) {
  std::filesystem::remove(path(1));
  const Recording rest = read_segments(segment_files(directory_.file("")));
  EXPECT_EQ(rest.damage, std::vector<std::string>{"segments 1 to 1 are missing"});
  EXPECT_EQ(rest.processes.size(), 1u);
  EXPECT_EQ(rest.process_ends[0].cpu_ns, 220 * kNsPerMs);
}

TEST_F(Segments, AreCutToATime) {
  const std::vector<std::string> files = segment_files(directory_.file(""));
  const Recording part = read_segments(files, 1600 * kNsPerMs, 2550 * kNsPerMs);
  ASSERT_EQ(part.samples.size(), 1u);
  EXPECT_EQ(part.samples[0].time_ns, 2500 * kNsPerMs);
  EXPECT_EQ(part.threads.size(), 2u);  // `late` has ended
  EXPECT_TRUE(part.thread_ends.empty());
  EXPECT_TRUE(part.process_ends.empty());
  EXPECT_TRUE(part.markers.spans.empty());
  ASSERT_EQ(part.markers.sections.size(), 1u);
  EXPECT_EQ(part.markers.sections[0].begin_ns, 1600 * kNsPerMs);
  EXPECT_EQ(part.markers.sections[0].end_ns, 2300 * kNsPerMs);
  EXPECT_TRUE(part.markers.pauses.empty());
  const Recording alone = rebased(part);
  EXPECT_EQ(alone.samples[0].time_ns, 900 * kNsPerMs);
  EXPECT_EQ(alone.end->time_ns, 950 * kNsPerMs);
  EXPECT_FALSE(alone.end->exit_status);

  const Recording last = read_segments(files, 2550 * kNsPerMs);
  EXPECT_EQ(last.markers.spans.size(), 1u);
  EXPECT_EQ(last.threads.size(), 3u);
  EXPECT_EQ(last.end->exit_status, 0);
  EXPECT_FALSE(last.process_ends[0].cpu_ns);
}

TEST_F(Segments, ReadOnlyTheFilesOfTheTime) {
  std::filesystem::remove(path(0));
  std::ofstream(path(0)) << "this is no recording";
  const Recording part =
      read_segments(segment_files(directory_.file("")), 1600 * kNsPerMs, 1700 * kNsPerMs);
  EXPECT_TRUE(part.damage.empty());
  EXPECT_TRUE(part.samples.empty());
  EXPECT_EQ(part.threads.size(), 2u);
}

TEST_F(Segments, AreWrittenAsARecordingOfTheirOwn) {
  const Recording part = rebased(read_segments(segment_files(directory_.file("")), kNsPerSecond));
  write(part, directory_.file("box"));
  const Recording box = read(directory_.file("box"));
  EXPECT_FALSE(box.segment);
  EXPECT_EQ(box.samples.size(), 2u);
  EXPECT_EQ(box.end->time_ns, 2 * kNsPerSecond);
}

TEST(SegmentsOfALongSession, ForgetThreadsThatHaveEnded) {
  const test::ScratchDirectory directory;
  Writer writer(directory.file("0"), example_session());
  const uint32_t process = writer.add(Process{1, 0, 0, "app"});
  const uint32_t first = writer.add(Thread{process, 1, 0, "first"});
  writer.add(ThreadEnd{first, 1, 1});
  for (int32_t tid = 2; tid < 20'000; ++tid) {
    const uint32_t thread = writer.add(Thread{process, tid, 0, "short"});
    writer.add(ThreadEnd{thread, 1, 1});
  }
  writer.rotate(directory.file("1"), kNsPerSecond);
  writer.add(Sample{first, kNone, kNsPerSecond + 1, 5, {}});
  writer.finish({});
  const Recording recording = read(directory.file("1"));
  ASSERT_EQ(recording.threads.size(), 1u);
  EXPECT_EQ(recording.threads[recording.samples[0].thread].name, "[lost]");
}

TEST(SegmentsOfALongSession, GoOnWhenTheNextCannotBeMade) {
  const test::ScratchDirectory directory;
  Writer writer(directory.file("0"), example_session());
  EXPECT_THROW(writer.rotate(directory.file("0"), kNsPerSecond), Error);
  writer.add(Process{1, 0, 0, "app"});
  writer.finish({});
  EXPECT_EQ(read(directory.file("0")).processes.size(), 1u);
}

}  // namespace
}  // namespace sampan::recording
