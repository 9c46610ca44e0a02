#include "remote/top/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "recording/reader.h"
#include "remote/http/client.h"

namespace sampan::top {
namespace {

class CaptureSource : public Source {
 public:
  CaptureSource(const live::CaptureOptions& options, bool runs_command)
      : capture_(options), runs_command_(runs_command) {}

  Slice next() override {
    const bool last = capture_.over();
    Slice slice;
    slice.from_ns = seen_ns_;
    slice.to_ns = std::max(capture_.now_ns(), seen_ns_);
    capture_.flush();
    slice.recording = capture_.read(seen_ns_.earlier(NewSamples::kMaxDelayNs));
    new_samples_.keep(&slice.recording);
    if (last && slice.recording.end) {
      slice.to_ns = std::max(slice.recording.end->time_ns, seen_ns_);
    }
    seen_ns_ = slice.to_ns;
    return slice;
  }

  recording::Recording since(SessionNs from_ns) override {
    capture_.flush();
    return capture_.read(from_ns);
  }
  SessionNs now_ns() const override { return capture_.now_ns(); }
  std::string control(const std::string& command) override { return capture_.control(command); }
  bool over() override { return capture_.over(); }
  std::optional<int> finish() override {
    const int status = capture_.finish();
    return runs_command_ ? std::optional(status) : std::nullopt;
  }

 private:
  live::Capture capture_;
  bool runs_command_;
  NewSamples new_samples_;
  SessionNs seen_ns_ = 0;
};

// Seconds in the first picture.
constexpr double kFirstSeconds = 1;

class RemoteSource : public Source {
 public:
  RemoteSource(std::string url, std::string token)
      : url_(std::move(url)), token_(std::move(token)) {
    while (url_.ends_with('/')) url_.pop_back();
  }

  // Times are those of the remote session. Its clock may differ from ours, so ours is used for
  // durations only.
  Slice next() override {
    const MonotonicNs now_ns = monotonic_ns();
    const bool first = asked_ns_ == 0;
    const uint64_t passed_ns = first ? 0 : now_ns - asked_ns_;
    const double last_s =
        first ? kFirstSeconds
              : static_cast<double>(passed_ns + NewSamples::kMaxDelayNs) / kNsPerSecond;
    Slice slice;
    slice.recording = fetch_last(last_s);
    new_samples_.keep(&slice.recording);
    SessionNs latest_ns = 0;
    for (const recording::Sample& sample : slice.recording.samples) {
      latest_ns = std::max(latest_ns, sample.time_ns);
    }
    if (first) {
      const auto span_ns = static_cast<uint64_t>(kFirstSeconds * kNsPerSecond);
      slice.from_ns = latest_ns.earlier(span_ns);
      slice.to_ns = std::max(latest_ns, slice.from_ns + 1);
    } else {
      slice.from_ns = seen_ns_;
      slice.to_ns = seen_ns_ + passed_ns;
    }
    asked_ns_ = now_ns;
    seen_ns_ = slice.to_ns;
    // A recording in progress is served with an end whose time is 0.
    over_ = slice.recording.end && slice.recording.end->time_ns != 0;
    return slice;
  }

  recording::Recording since(SessionNs from_ns) override {
    if (from_ns == 0) return fetch("/recording");
    recording::Recording recording =
        fetch_last(static_cast<double>(now_ns().since(from_ns)) / kNsPerSecond + 1);
    std::erase_if(recording.samples,
                  [&](const recording::Sample& sample) { return sample.time_ns < from_ns; });
    return recording;
  }

  SessionNs now_ns() const override {
    return asked_ns_ == 0 ? SessionNs() : seen_ns_ + (monotonic_ns() - asked_ns_);
  }
  std::string control(const std::string&) override {
    throw Error(
        "{} can only be watched from here: pause it, or change its rate, where sampan serve runs",
        url_);
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
      throw Error("{} requires a token, or another one: --token-file", url_);
    }
    if (answer.status != 200) {
      throw Error("{} answers with status {}: is it a sampan serve?", url_, answer.status);
    }
    return recording::parse(answer.body, url_);
  }

  std::string url_, token_;
  NewSamples new_samples_;
  MonotonicNs asked_ns_ = 0;
  SessionNs seen_ns_ = 0;
  bool over_ = false;
};

}  // namespace

void NewSamples::keep(recording::Recording* recording) {
  struct Stream {
    SessionNs before_ns;  // the time up to which samples were seen
    SessionNs* last_ns;
    bool is_new;
  };
  std::unordered_map<uint64_t, Stream> streams;  // by thread and wait, rows of this recording
  const auto stream_of = [&](const recording::Sample& sample) -> Stream& {
    const auto [place, is_new] =
        streams.try_emplace(uint64_t{sample.thread} << 32 | sample.wait, Stream{});
    if (!is_new) return place->second;
    const recording::Thread& thread = recording->threads[sample.thread];
    const recording::Wait wait =
        sample.wait == recording::kNone ? recording::Wait{} : recording->waits[sample.wait];
    const auto [last, first] =
        last_ns_.try_emplace(Key(thread.tid, thread.start_ns, wait.call, wait.object), SessionNs());
    return place->second = {last->second, &last->second, first};
  };
  SessionNs latest_ns = 0;
  std::erase_if(recording->samples, [&](const recording::Sample& sample) {
    Stream& stream = stream_of(sample);
    if (!stream.is_new && sample.time_ns <= stream.before_ns) return true;
    *stream.last_ns = std::max(*stream.last_ns, sample.time_ns);
    latest_ns = std::max(latest_ns, sample.time_ns);
    return false;
  });
  // Older times are not needed: those samples are not read again.
  std::erase_if(last_ns_,
                [&](const auto& entry) { return entry.second + 2 * kMaxDelayNs < latest_ns; });
}

std::unique_ptr<Source> capture_source(const live::CaptureOptions& options, bool runs_command) {
  return std::make_unique<CaptureSource>(options, runs_command);
}

std::unique_ptr<Source> remote_source(std::string url, std::string token) {
  return std::make_unique<RemoteSource>(std::move(url), std::move(token));
}

}  // namespace sampan::top
