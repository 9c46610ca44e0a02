// A capture that another sampan serves (docs/serving.md): /recording?last=SECONDS.
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "http/client.h"
#include "recording/reader.h"
#include "top/new_samples.h"
#include "top/source.h"

namespace sampan::top {
namespace {

// What the first picture is made of.
constexpr double kAtFirst = 1;

class RemoteSource : public Source {
 public:
  RemoteSource(std::string url, std::string token)
      : url_(std::move(url)), token_(std::move(token)) {
    while (url_.ends_with('/')) url_.pop_back();
  }

  // Times are those of the other machine's session; its clock and ours may differ, so only how much
  // time has passed is ours.
  Slice next() override {
    const uint64_t now_ns = monotonic_ns();
    const bool first = asked_ns_ == 0;
    const uint64_t passed_ns = first ? 0 : now_ns - asked_ns_;
    const double last_s =
        first ? kAtFirst : static_cast<double>(passed_ns + NewSamples::kLatest) / kNsPerSecond;
    Slice slice;
    slice.recording = fetch_last(last_s);
    new_samples_.keep(&slice.recording);
    uint64_t latest_ns = 0;
    for (const recording::Sample& sample : slice.recording.samples) {
      latest_ns = std::max(latest_ns, sample.time_ns);
    }
    if (first) {
      const auto span_ns = static_cast<uint64_t>(kAtFirst * kNsPerSecond);
      slice.from_ns = latest_ns - std::min(latest_ns, span_ns);
      slice.to_ns = std::max(latest_ns, slice.from_ns + 1);
    } else {
      slice.from_ns = seen_ns_;
      slice.to_ns = seen_ns_ + passed_ns;
    }
    asked_ns_ = now_ns;
    seen_ns_ = slice.to_ns;
    // What goes on is served with an end that is not yet.
    over_ = slice.recording.end && slice.recording.end->time_ns != 0;
    return slice;
  }

  recording::Recording since(uint64_t from_ns) override {
    if (from_ns == 0) return fetch("/recording");
    const uint64_t now = now_ns();
    recording::Recording recording =
        fetch_last(static_cast<double>(now - std::min(from_ns, now)) / kNsPerSecond + 1);
    std::erase_if(recording.samples,
                  [&](const recording::Sample& sample) { return sample.time_ns < from_ns; });
    return recording;
  }

  uint64_t now_ns() const override {
    return asked_ns_ == 0 ? 0 : seen_ns_ + (monotonic_ns() - asked_ns_);
  }
  std::string control(const std::string&) override {
    throw Error("{} is only looked at: what is served can be changed where it runs", url_);
  }
  bool over() override { return over_; }
  std::optional<int> finish() override { return std::nullopt; }

 private:
  recording::Recording fetch_last(double seconds) const {
    return fetch(fmt::format("/recording?last={:.3f}", seconds));
  }

  recording::Recording fetch(const std::string& path) const {
    const http::Answer answer = http::fetch({.url = url_ + path, .bearer_token = token_});
    if (answer.status == 401) {
      throw Error("{} asks for a token, or for another one: --token-file", url_);
    }
    if (answer.status != 200) {
      throw Error("{} answers {}: is it a sampan that serves?", url_, answer.status);
    }
    return recording::parse(answer.body, url_);
  }

  std::string url_, token_;
  NewSamples new_samples_;
  uint64_t asked_ns_ = 0;  // CLOCK_MONOTONIC
  uint64_t seen_ns_ = 0;
  bool over_ = false;
};

}  // namespace

std::unique_ptr<Source> remote_source(std::string url, std::string token) {
  return std::make_unique<RemoteSource>(std::move(url), std::move(token));
}

}  // namespace sampan::top
