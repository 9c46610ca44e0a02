// large_spans OUTPUT SPANS: writes a synthetic recording of that many spans, on two threads:
// requests with three spans inside, of ten names, and a sample every 4 ms.
#include <fmt/core.h>

#include <cstdlib>
#include <exception>
#include <random>
#include <vector>

#include "recording/writer.h"

namespace {

using namespace sampan::recording;
using sampan::MonotonicNs, sampan::SessionNs;

constexpr unsigned kThreads = 2, kInside = 3, kNames = 10;
constexpr uint64_t kPeriod = 4'000'000;

class Spans {
 public:
  explicit Spans(Writer& writer) : writer_(writer) {
    const uint32_t process = writer.add(Process{100, 1, 0, "/usr/bin/server"});
    for (uint32_t i = 0; i < kThreads; ++i) {
      threads_.push_back(writer.add(
          Thread{process, static_cast<int32_t>(100 + i), 0, fmt::format("worker-{}", i)}));
      times_.push_back(0);
      next_samples_.push_back(kPeriod);
    }
  }

  // Returns the end of the last span of the first thread, ns.
  SessionNs add(uint64_t spans) {
    for (uint64_t i = 0; i < spans / (kInside + 1); ++i) add_request(i % kThreads);
    return times_[0];
  }

 private:
  // In the order of a program's markers: a span is written at its end, so inner ones come first.
  void add_request(size_t thread) {
    SessionNs& now = times_[thread];
    const SessionNs begin = now;
    const uint64_t id = next_id_;
    next_id_ += kInside + 1;
    for (unsigned i = 0; i < kInside; ++i) {
      const SessionNs inner = now += 50;
      now += 100 + random_() % 1000;
      add_span(thread, inner, now, id + 1 + i, id,
               fmt::format("step {}", random_() % (kNames - 1)));
    }
    add_span(thread, begin, now += 50, id, 0, "request");
    now += random_() % 500;
    for (; next_samples_[thread] < now; next_samples_[thread] += kPeriod) {
      Sample sample;
      sample.thread = threads_[thread];
      sample.time_ns = next_samples_[thread];
      sample.weight_ns = kPeriod;
      writer_.add(sample);
      writer_.tick(MonotonicNs::at(uint64_t{sample.time_ns}));
    }
  }

  void add_span(size_t thread, SessionNs begin_ns, SessionNs end_ns, uint64_t id,
                uint64_t parent_id, const std::string& name) {
    Span span;
    span.begin_ns = begin_ns;
    span.end_ns = end_ns;
    span.id = id;
    span.parent_id = parent_id;
    span.name = writer_.text(name);
    span.thread = span.end_thread = threads_[thread];
    writer_.add(span);
  }

  Writer& writer_;
  std::mt19937 random_{1};
  std::vector<uint32_t> threads_;
  std::vector<SessionNs> times_, next_samples_;
  uint64_t next_id_ = 1;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    fmt::print(stderr, "usage: large_spans OUTPUT SPANS\n");
    return 2;
  }
  Session session;
  session.program = "server";
  session.rate_hz = 250;
  Writer writer(argv[1], session);
  SessionEnd end;
  end.time_ns = Spans(writer).add(std::strtoull(argv[2], nullptr, 10));
  writer.finish(end);
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
