#include "sampler/recorder/python_thread_names.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "sampler/process/proc_task.h"
#include "sampler/process/process_pages.h"
#include "sampler/process/remote_memory.h"
#include "sampler/recorder/python_objects.h"

namespace sampan::sampler {
namespace {

constexpr uint64_t kLongestRead = 100'000'000;
// A thread has its name in Python a little after the kernel has the thread. Reading may take a twentieth of the time, unless
// it takes long because sampan waits for a CPU.
constexpr uint64_t kShortestInterval = 50'000'000, kLongestInterval = 500'000'000;
constexpr uint64_t kReadShare = 20;
constexpr size_t kMostInterpreters = 256;
constexpr uint64_t kDigit = 24;  // of an int, the lowest one: 30 bits
// The kernel keeps so much of a name, less if a character of UTF-8 ends beyond.
constexpr size_t kMostInKernel = 15, kLongestCharacter = 4;

bool is_beginning_of(const std::string& in_kernel, const std::string& name) {
  return in_kernel.size() + kLongestCharacter > kMostInKernel && name.starts_with(in_kernel);
}

}  // namespace

void PythonThreadNames::use(std::shared_ptr<const PythonInterpreter> interpreter) {
  if (interpreter == interpreter_) return;
  interpreter_ = std::move(interpreter);
  names_.clear();
  next_read_ns_ = 0;
}

std::string PythonThreadNames::name_of(pid_t tid, const std::string& in_kernel) {
  if (interpreter_ == nullptr || tid == pid_) return in_kernel;
  auto known = names_.find(tid);
  if (known == names_.end() && monotonic_ns() >= next_read_ns_) {
    read();
    known = names_.find(tid);
  }
  if (known == names_.end()) return in_kernel;
  const bool is_pythons =
      in_kernel == thread_name(pid_, pid_) || is_beginning_of(in_kernel, known->second);
  return is_pythons ? known->second : in_kernel;
}

void PythonThreadNames::read() {
  const MonotonicNs begin_ns = monotonic_ns();
  names_ = read_once();
  const Names again = read_once();
  std::erase_if(names_, [&again](const auto& name) {
    const auto same = again.find(name.first);
    return same == again.end() || same->second != name.second;
  });
  const MonotonicNs end_ns = monotonic_ns();
  next_read_ns_ =
      end_ns + std::clamp((end_ns - begin_ns) * kReadShare, kShortestInterval, kLongestInterval);
}

PythonThreadNames::Names PythonThreadNames::read_once() const {
  const MonotonicNs begin_ns = monotonic_ns();
  ProcessPages memory(
      [this](uint64_t page, std::span<std::byte, ProcessPages::kPageSize> to) {
        return read_process(pid_, Avma::at(page), to.data(), to.size()) == to.size();
      },
      [begin_ns] { return monotonic_ns() - begin_ns < kLongestRead; });
  PythonObjects objects(memory, interpreter_->layout);
  const unwind::PythonRuntimeLayout& layout = interpreter_->runtime_layout;
  uint64_t interpreter = objects.word(interpreter_->runtime + layout.first_interpreter);
  Names names;
  for (size_t i = 0; interpreter != 0 && i < kMostInterpreters; ++i) {
    const uint64_t modules = objects.word(interpreter + layout.modules);
    const uint64_t threading = objects.names_of_module(modules, "threading");
    const uint64_t active = threading == 0 ? 0 : objects.item(threading, "_active");
    const auto threads = active == 0 ? std::vector<uint64_t>() : objects.values_of(active);
    for (const uint64_t thread : threads) {
      const uint64_t id = objects.attribute(thread, "_native_id");
      const auto tid =
          objects.is_a(id, "int") ? objects.value<uint32_t>(id + kDigit) : std::nullopt;
      auto name = objects.text(objects.attribute(thread, "_name"));
      if (tid && name && !name->empty())
        names.insert_or_assign(static_cast<pid_t>(*tid), std::move(*name));
    }
    interpreter = objects.word(interpreter + layout.next_interpreter);
  }
  return names;
}

}  // namespace sampan::sampler
