#include "sampler/rings/drummer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <thread>

#include "base/clock.h"
#include "base/units.h"
#include "wire/control_block.h"

namespace sampan::sampler {
namespace {

constexpr uint32_t kRateHz = 1000;
void* shared_base;                           // of the memory
std::array<std::atomic<uint32_t>, 4> beats;  // by slot

void take_beat(int, siginfo_t* info, void*) {
  const auto value = reinterpret_cast<uint64_t>(info->si_value.sival_ptr);
  if (info->si_code != SI_QUEUE || value >> 32 != wire::kBeatCookie >> 32) return;
  const auto slot = static_cast<uint32_t>(value);
  ++beats.at(slot);
  wire::thread_slot(shared_base, slot)->drum.due.store(0);
}

class Drummers : public testing::Test {
 protected:
  Drummers() : memory_(std::make_shared<SharedMemory>(wire::kFewestSlots)) {
    shared_base = memory_->base();
    control()->drummed = 1;
    control()->enabled = 1;
    for (auto& count : beats) count = 0;
    struct sigaction action {};
    action.sa_sigaction = take_beat;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGURG, &action, &before_);
  }
  ~Drummers() override { sigaction(SIGURG, &before_, nullptr); }

  wire::ControlBlock* control() { return wire::control_block(memory_->base()); }
  static wire::Drum& drum(uint32_t slot) { return wire::thread_slot(shared_base, slot)->drum; }
  // The calling thread has the slot from now on.
  void sit(uint32_t slot) {
    if (control()->slots_used <= slot) control()->slots_used = slot + 1;
    drum(slot).signo = SIGURG;
    drum(slot).awake = 1;
    drum(slot).tid = gettid();
  }
  static void burn(uint64_t ns) {
    while (read_clock_ns(CLOCK_THREAD_CPUTIME_ID) < ns) {
    }
  }

  std::shared_ptr<SharedMemory> memory_;

 private:
  struct sigaction before_ {};
};

constexpr uint64_t kBurnNs = 400 * kNsPerMs;

TEST_F(Drummers, BeatForThreadsThatRun) {
  Drummer drummer(kRateHz, 250);
  drummer.add(getpid(), memory_);
  std::atomic<bool> over = false;
  std::thread running([&] {
    sit(0);
    burn(kBurnNs);
    wire::leave_drummer(drum(0));
    over = true;
  });
  std::thread sleeping([&] {
    sit(1);
    over.wait(false);
    wire::leave_drummer(drum(1));
  });
  std::thread calling([&] {
    sit(2);
    wire::enter_call(drum(2));
    beats[2] = 0;  // one may have come before the call
    burn(kBurnNs);
    wire::leave_drummer(drum(2));
  });
  running.join();
  over.notify_all();
  sleeping.join();
  calling.join();
  drummer.remove(getpid());
  // Beats come by the clock on the wall, and one at a time: a thread that shares its CPU may have more of them than its CPU time
  // says, and a drummer without a CPU sends fewer.
  EXPECT_GT(beats[0], kBurnNs * kRateHz / kNsPerSecond / 4);
  EXPECT_LT(
      beats[1],
      beats[0] / 4);  // it runs for moments, when it begins and ends, and may wait for a CPU then
  EXPECT_EQ(beats[2], 0u);
  EXPECT_GT(drum(2).missed, 0u);
}

TEST_F(Drummers, AreSilentWhereNobodyWantsThem) {
  const auto beats_while = [&](const std::function<void(Drummer&)>& change) {
    Drummer drummer(kRateHz, 250);
    drummer.add(getpid(), memory_);
    change(drummer);
    beats[0] = 0;
    std::thread running([&] {
      sit(0);
      burn(kBurnNs / 2);
      wire::leave_drummer(drum(0));
    });
    running.join();
    return beats[0].load();
  };
  EXPECT_GT(beats_while([](Drummer&) {}), 0u);
  EXPECT_EQ(beats_while([](Drummer& drummer) { drummer.set_rate(250); }), 0u);
  EXPECT_EQ(beats_while([](Drummer& drummer) { drummer.remove(getpid()); }), 0u);
  EXPECT_EQ(beats_while([&](Drummer&) { control()->enabled = 0; }), 0u);
}

TEST_F(Drummers, AThreadThatDoesNotExistIsNoMatter) {
  Drummer drummer(kRateHz, 250);
  drummer.add(getpid(), memory_);
  std::thread running([&] {
    sit(0);
    for (const int tid : {1, -5, 0x7fffffff}) {
      control()->slots_used = 4;
      drum(1).signo = 12'345;
      drum(1).awake = 1;
      drum(1).tid = tid;
      burn(read_clock_ns(CLOCK_THREAD_CPUTIME_ID) + kBurnNs / 8);
    }
    control()->slots_used = UINT32_MAX;
    burn(read_clock_ns(CLOCK_THREAD_CPUTIME_ID) + kBurnNs / 8);
    wire::leave_drummer(drum(0));
  });
  running.join();
  EXPECT_GT(beats[0], 0u);
}

TEST(CanDrum, OurselvesAndNobodyWhoIsNotThere) {
  EXPECT_TRUE(Drummer::can_drum(getpid()));
  EXPECT_FALSE(Drummer::can_drum(1 << 30));
}

}  // namespace
}  // namespace sampan::sampler
