#include "sampler/rings/record_decoder.h"

#include <gtest/gtest.h>

#include "fake_shim.h"

namespace sampan::sampler {
namespace {

using Stack = std::vector<uint64_t>;

TEST(RecordDecoder, ReadsWhatTheShimWrites) {
  const auto start = decode_thread_start(thread_start(42, 7, 9, "worker"));
  ASSERT_TRUE(start);
  EXPECT_EQ(start->tid, 42);
  EXPECT_EQ(start->time_ns, 7u);
  EXPECT_EQ(start->cpu_ns, 9u);
  EXPECT_EQ(start->name, "worker");

  const auto load = decode_module_load(module_load(5, 0x1000, 0x2000, 0x3000, "/lib/a.so"));
  ASSERT_TRUE(load);
  EXPECT_EQ(load->bias, 0x1000u);
  EXPECT_EQ(load->end_avma, 0x3000u);
  EXPECT_EQ(load->build_id, (Bytes{1, 2, 3}));
  EXPECT_EQ(load->path, "/lib/a.so");

  const auto exit = decode_exit(exit_record(5, -1));
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->status, -1);
}

// A record that is cut at any length is refused.
TEST(RecordDecoder, RefusesEveryShorterPayload) {
  const Bytes start = thread_start(42, 7, 9, "worker");
  const Bytes name = thread_name(7, 42, "worker");
  const Bytes cpu = thread_cpu(7, 42, 9);
  const Bytes unload = module_unload(5, 0x1000, 0x2000);
  const Bytes one = sample(5, 6, 1, 0, {0x401000, 0x402000});
  ASSERT_TRUE(SampleDecoder().decode(one));
  const auto cut = [](const Bytes& bytes, size_t size) { return Payload(bytes).first(size); };
  for (size_t i = 0; i < start.size(); ++i) EXPECT_FALSE(decode_thread_start(cut(start, i))) << i;
  for (size_t i = 0; i < name.size(); ++i) EXPECT_FALSE(decode_thread_name(cut(name, i))) << i;
  for (size_t i = 0; i < cpu.size(); ++i) EXPECT_FALSE(decode_thread_cpu(cut(cpu, i))) << i;
  for (size_t i = 0; i < unload.size(); ++i) EXPECT_FALSE(decode_module_unload(cut(unload, i)));
  for (size_t i = 0; i < one.size(); ++i) EXPECT_FALSE(SampleDecoder().decode(cut(one, i))) << i;
}

TEST(RecordDecoder, RefusesWaitsForLocksThatMakeNoSense) {
  const WaitFields good{10, 20, 5, 0x1000, wire::LockKind::kMutex, 1, 2};
  const auto decode = [](const WaitFields& wait) {
    return SampleDecoder().decode_lock_wait(lock_wait(wait, 0, {0x10}));
  };
  ASSERT_TRUE(decode(good));
  EXPECT_EQ(decode(good)->last, 2u);
  WaitFields bad = good;
  bad.end = 9;
  EXPECT_FALSE(decode(bad));
  bad = good;
  bad.limit = 0;
  EXPECT_FALSE(decode(bad));
  bad = good;
  bad.first = 3;
  EXPECT_FALSE(decode(bad));
  bad = good;
  bad.kind = static_cast<wire::LockKind>(wire::kLockKindCount);
  EXPECT_FALSE(decode(bad));
  EXPECT_FALSE(SampleDecoder().decode_release(lock_release(1, 0, 0x1000, 0, {0x10})));
  EXPECT_FALSE(decode_lock_origin(lock_origin(1, 0x1000, bad.kind, 0x20)));

  const Bytes wait = lock_wait(good, 0, {0x10, 0x20});
  const Bytes release = lock_release(1, 7, 0x1000, 0, {0x10, 0x20});
  const Bytes origin = lock_origin(1, 0x1000, wire::LockKind::kMutex, 0x20);
  EXPECT_TRUE(SampleDecoder().decode_release(release));
  EXPECT_TRUE(decode_lock_origin(origin));
  const auto cut = [](const Bytes& bytes, size_t size) { return Payload(bytes).first(size); };
  for (size_t i = 0; i < wait.size(); ++i) {
    EXPECT_FALSE(SampleDecoder().decode_lock_wait(cut(wait, i))) << i;
  }
  for (size_t i = 0; i < release.size(); ++i) {
    EXPECT_FALSE(SampleDecoder().decode_release(cut(release, i))) << i;
  }
  for (size_t i = 0; i < origin.size(); ++i) EXPECT_FALSE(decode_lock_origin(cut(origin, i))) << i;
}

TEST(SampleDecoder, SharesStacksAmongRecordsOfAllTypes) {
  SampleDecoder decoder;
  ASSERT_TRUE(decoder.decode(sample(5, 6, 1, 0, {0x10, 0x20, 0x30})));
  ASSERT_TRUE(decoder.decode_lock_wait(
      lock_wait({10, 20, 5, 0x1000, wire::LockKind::kMutex, 0, 0}, 2, {0x15})));
  EXPECT_EQ(decoder.stack(), (Stack{0x30, 0x20, 0x15}));
  ASSERT_TRUE(decoder.decode_release(lock_release(1, 7, 0x1000, 1, {})));
  EXPECT_EQ(decoder.stack(), (Stack{0x30}));
}

TEST(RecordDecoder, RefusesModulesThatEndBeforeTheyBegin) {
  EXPECT_FALSE(decode_module_load(module_load(5, 0, 0x3000, 0x3000, "/lib/a.so")));
  EXPECT_FALSE(decode_module_load(module_load(5, 0, 0x3000, 0x2000, "/lib/a.so")));
}

TEST(SampleDecoder, MayHaveAStepOfAnEventLoop) {
  const auto in_step = [](uint8_t kind, uint8_t task) {
    return payload([&](ByteWriter& out) {
      for (const uint64_t value : {5, 6}) out.fixed(value);
      out.fixed(uint16_t{1});
      out.fixed(uint8_t{0});
      out.fixed(wire::kSampleInStep);
      out.fixed(kind);
      out.fixed(task);
      out.fixed(uint64_t{4711});
      out.uleb(0);
      out.uleb(0);
    });
  };
  const auto record = SampleDecoder().decode(in_step(1, 16));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->step.kind, wire::StepKind::kTask);
  EXPECT_EQ(record->step.task, 16);
  EXPECT_EQ(record->step.id, 4711u);
  EXPECT_FALSE(SampleDecoder().decode(in_step(1, 17)));
  EXPECT_FALSE(SampleDecoder().decode(in_step(4, 1)));
  const auto outside = SampleDecoder().decode(sample(5, 6, 1, 0, {}));
  ASSERT_TRUE(outside);
  EXPECT_EQ(outside->step.kind, wire::StepKind::kNone);
}

TEST(SampleDecoder, KeepsTheRequestUntilAnotherOne) {
  const wire::TraceContext one = {{1}, {2}, {3}}, other = {{4}, {5}, {}};
  const auto with = [](uint8_t flags, const wire::TraceContext* context) {
    return payload([&](ByteWriter& out) {
      for (const uint64_t value : {5, 6}) out.fixed(value);
      out.fixed(uint16_t{1});
      out.fixed(uint8_t{0});
      out.fixed(flags);
      if (context != nullptr) out.bytes(context, sizeof *context);
      out.uleb(0);
      out.uleb(0);
    });
  };
  constexpr uint8_t kNew = wire::kSampleInTrace | wire::kSampleNewTrace;
  SampleDecoder decoder;
  const auto context = [&](const Bytes& bytes) {
    const auto record = decoder.decode(bytes);
    return record ? record->context : wire::TraceContext{{0xff}, {}, {}};
  };
  EXPECT_EQ(context(with(wire::kSampleInTrace, nullptr)), wire::TraceContext{});  // not known
  EXPECT_EQ(context(with(kNew, &one)), one);
  EXPECT_EQ(context(with(wire::kSampleInTrace, nullptr)), one);
  EXPECT_EQ(context(with(0, nullptr)), wire::TraceContext{});
  EXPECT_EQ(context(with(wire::kSampleInTrace, nullptr)), one);
  EXPECT_EQ(context(with(kNew, &other)), other);
  const Bytes whole = with(kNew, &other);
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_FALSE(SampleDecoder().decode(Payload(whole).first(i))) << i;
  }
  decoder.forget();
  EXPECT_EQ(context(with(wire::kSampleInTrace, nullptr)), wire::TraceContext{});
}

TEST(SampleDecoder, SharesTheRootSideWithTheSampleBefore) {
  SampleDecoder decoder;
  ASSERT_TRUE(decoder.decode(sample(1, 1, 1, 0, {30, 20, 10})));
  EXPECT_EQ(decoder.stack(), (Stack{10, 20, 30}));
  ASSERT_TRUE(decoder.decode(sample(2, 2, 1, 2, {50, 40})));
  EXPECT_EQ(decoder.shared(), 2u);
  EXPECT_EQ(decoder.stack(), (Stack{10, 20, 40, 50}));
  ASSERT_TRUE(decoder.decode(sample(3, 3, 1, 1, {})));
  EXPECT_EQ(decoder.stack(), (Stack{10}));
}

TEST(SampleDecoder, RefusesToShareWhatIsNotKnown) {
  SampleDecoder decoder;
  EXPECT_FALSE(decoder.decode(sample(1, 1, 1, 1, {10})));
  ASSERT_TRUE(decoder.decode(sample(2, 2, 1, 0, {20, 10})));
  EXPECT_FALSE(decoder.decode(sample(3, 3, 1, 3, {})));  // more than there were
  EXPECT_FALSE(decoder.decode(sample(4, 4, 1, 1, {})));  // what was there is not known now
  ASSERT_TRUE(decoder.decode(sample(5, 5, 1, 0, {20, 10})));
  decoder.forget();
  EXPECT_FALSE(decoder.decode(sample(6, 6, 1, 2, {})));
}

TEST(SampleDecoder, RefusesImpossibleCounts) {
  const auto claims = [](uint64_t shared, uint64_t fresh) {
    return payload([&](ByteWriter& out) {
      out.fixed(uint64_t{1});
      out.fixed(uint64_t{1});
      out.fixed(uint16_t{1});
      out.fixed(uint16_t{0});
      out.uleb(shared);
      out.uleb(fresh);
    });
  };
  EXPECT_TRUE(SampleDecoder().decode(claims(0, 0)));
  EXPECT_FALSE(SampleDecoder().decode(claims(0, 1)));  // a frame that is not there
  EXPECT_FALSE(SampleDecoder().decode(claims(0, wire::kMaxFrames + 1)));
  EXPECT_FALSE(SampleDecoder().decode(claims(0, UINT64_MAX)));
  EXPECT_FALSE(SampleDecoder().decode(claims(UINT64_MAX, 1)));
  EXPECT_FALSE(SampleDecoder().decode(sample(1, 1, 1, 0, {1}, wire::kStopReasonCount)));
}

// One previous stack for all records of a thread.
TEST(SampleDecoder, AllocationsAndFreesShareStacksWithSamples) {
  SampleDecoder decoder;
  ASSERT_TRUE(decoder.decode(sample(5, 6, 1, 0, {0x30, 0x20, 0x10})));
  const auto made = decoder.decode_allocation(allocation(7, 8, 4096, 512, 1, 2, {0x31}, 2));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->time_ns, 7u);
  EXPECT_EQ(made->id, 8u);
  EXPECT_EQ(made->size, 4096u);
  EXPECT_EQ(made->mean, 512u);
  EXPECT_EQ(made->kind, wire::AllocationKind::kMapping);
  EXPECT_EQ(made->stop, wire::StopReason::kBadAddress);
  EXPECT_EQ(decoder.stack(), (Stack{0x10, 0x20, 0x31}));
  const auto gone = decoder.decode_free(freed(9, 8, 3, {0x40}));
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->id, 8u);
  EXPECT_EQ(decoder.stack(), (Stack{0x10, 0x20, 0x31, 0x40}));
  EXPECT_EQ(decoder.shared(), 3u);
  ASSERT_TRUE(decoder.decode_free(freed(9, 8, 0, {})));
  EXPECT_TRUE(decoder.stack().empty());
}

TEST(SampleDecoder, RefusesAllocationsThatMakeNoSense) {
  const auto decode = [](const Bytes& record) { return SampleDecoder().decode_allocation(record); };
  ASSERT_TRUE(decode(allocation(7, 8, 0, 1, 0, 0, {0x10})));
  EXPECT_FALSE(decode(allocation(7, 8, 1, 0, 0, 0, {0x10}))) << "a mean of 0";
  EXPECT_FALSE(decode(allocation(7, 8, 1, 1, 2, 0, {0x10}))) << "the kind";
  EXPECT_FALSE(decode(allocation(7, 8, 1, 1, 0, 0, {0x10}, 99))) << "the reason";
  EXPECT_FALSE(decode(allocation(7, 8, 1, 1, 0, 1, {0x10}))) << "shares what is not known";
  EXPECT_FALSE(SampleDecoder().decode_free(freed(7, 8, 0, {0x10}, 99)));
  const Bytes made = allocation(7, 8, 9, 1, 0, 0, {0x401000, 0x402000});
  const Bytes gone = freed(7, 8, 0, {0x401000, 0x402000});
  for (size_t size = 0; size < made.size(); ++size) {
    EXPECT_FALSE(SampleDecoder().decode_allocation(Payload(made).first(size))) << size;
  }
  for (size_t size = 0; size < gone.size(); ++size) {
    EXPECT_FALSE(SampleDecoder().decode_free(Payload(gone).first(size))) << size;
  }
}

}  // namespace
}  // namespace sampan::sampler
