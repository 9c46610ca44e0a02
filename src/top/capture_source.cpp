#include "top/source.h"

#include <algorithm>

#include "top/new_samples.h"

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
    slice.recording = capture_.read(seen_ns_ - std::min(seen_ns_, NewSamples::kLatest));
    new_samples_.keep(&slice.recording);
    if (last && slice.recording.end) {
      slice.to_ns = std::max(slice.recording.end->time_ns, seen_ns_);
    }
    seen_ns_ = slice.to_ns;
    return slice;
  }

  recording::Recording since(uint64_t from_ns) override {
    capture_.flush();
    return capture_.read(from_ns);
  }
  uint64_t now_ns() const override { return capture_.now_ns(); }
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
  uint64_t seen_ns_ = 0;
};

}  // namespace

std::unique_ptr<Source> capture_source(const live::CaptureOptions& options, bool runs_command) {
  return std::make_unique<CaptureSource>(options, runs_command);
}

}  // namespace sampan::top
