// What the recorder has counted, and what the kernel's accounts show to be missing besides: a process that computes and has no
// sample, and CPU that no recorded process has. Nothing may be lost silently.
#include <algorithm>

#include "base/units.h"
#include "profile/profile.h"
#include "wire/loss.h"

namespace sampan::profile {
namespace {

// CPU that is not seen anywhere: of an image before the shim is in it, and of its end. Nor is that of a thread since its last
// sample, where the process is killed.
constexpr uint64_t kUsualOfImage = 20 * kNsPerMs;
constexpr uint64_t kUsualPart = 50;
// With so much CPU, and so many periods of sampling, a process has samples.
constexpr uint64_t kSurelySampled = 100 * kNsPerMs;
constexpr uint64_t kManyPeriods = 16;
constexpr uint64_t kHardlySampled = 100;

// Threads and images that were not sampled, and samples that were dropped.
constexpr wire::Loss kExplaining[] = {
    wire::Loss::kRingFull,        wire::Loss::kRingCorrupt,    wire::Loss::kThreadNoSlot,
    wire::Loss::kThreadNoTimer,   wire::Loss::kThreadSeccomp,  wire::Loss::kThreadSignal,
    wire::Loss::kThreadDispatch,  wire::Loss::kEngineRingFull, wire::Loss::kThreadNotAttached,
    wire::Loss::kProcessStatic,   wire::Loss::kProcessSetuid,  wire::Loss::kProcessNoShim,
    wire::Loss::kProcessNotJoined};

bool is_explained(const Profile& profile) {
  return std::ranges::any_of(kExplaining, [&](wire::Loss loss) {
    const auto index = static_cast<size_t>(loss);
    return index < profile.losses.size() && profile.losses[index] != 0;
  });
}

uint64_t processes_without_samples(const Profile& profile) {
  if (profile.session.rate_hz == 0 || is_explained(profile)) return 0;
  std::vector<uint64_t> sampled_ns(profile.processes.size());
  for (const Thread& thread : profile.threads) {
    if (thread.process < sampled_ns.size()) sampled_ns[thread.process] += thread.sampled_cpu_ns;
  }
  const uint64_t least_ns =
      std::max(kSurelySampled, kManyPeriods * kNsPerSecond / profile.session.rate_hz);
  uint64_t count = 0;
  for (size_t i = 0; i < sampled_ns.size(); ++i) {
    const uint64_t used_ns = profile.processes[i].cpu_ns.value_or(0);
    count += used_ns > least_ns && sampled_ns[i] < used_ns / kHardlySampled;
  }
  return count;
}

// The kernel's account of the command has the processes that it waited for, be they recorded or not.
uint64_t unseen_cpu_ns(const Profile& profile) {
  if (!profile.end || !profile.origins.empty() || profile.session.rate_hz == 0) return 0;
  const uint64_t used_ns = profile.end->user_cpu_ns + profile.end->system_cpu_ns;
  uint64_t seen_ns = 0;
  for (const Process& process : profile.processes) seen_ns += process.cpu_ns.value_or(0);
  const uint64_t period_ns = kNsPerSecond / profile.session.rate_hz;
  const uint64_t usual_ns = used_ns / kUsualPart + profile.processes.size() * kUsualOfImage +
                            profile.threads.size() * period_ns;
  return used_ns > seen_ns + usual_ns ? used_ns - seen_ns : 0;
}

}  // namespace

std::vector<Lost> losses(const Profile& profile) {
  std::vector<Lost> result;
  for (size_t i = 0; i < profile.losses.size(); ++i) {
    const auto loss = static_cast<wire::Loss>(i);
    if (profile.losses[i] != 0) {
      result.push_back({loss_key(loss), loss_text(loss), profile.losses[i]});
    }
  }
  if (profile.session.is_imported() || profile.shown != Shown::kSamples) return result;
  if (const uint64_t count = processes_without_samples(profile)) {
    result.push_back({"process_unsampled", "processes with CPU and hardly a sample", count});
  }
  if (const uint64_t ns = unseen_cpu_ns(profile)) {
    result.push_back({"unseen_cpu_ms", "ms of CPU of processes that were not seen", ns / kNsPerMs});
  }
  return result;
}

}  // namespace sampan::profile
