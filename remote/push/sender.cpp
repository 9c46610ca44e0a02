#include "remote/push/sender.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "remote/http/client.h"
#include "remote/push/piece.h"

namespace sampan::push {
namespace {

// Another process owns the spool; it may have ended when this time has passed.
constexpr std::chrono::milliseconds kOwnerPoll{500};
// Recordings could not be turned into pieces for now.
constexpr std::chrono::seconds kStuck{5};
constexpr size_t kMaxReported = 100;  // different sentences

struct Stopped {};

}  // namespace

Sender::Sender(Spool& spool, SendOptions options)
    : spool_(spool), options_(std::move(options)), backoff_(std::random_device{}()) {}

std::optional<Clock::time_point> Sender::step(const std::function<bool()>& stopped) {
  if (spool_.items().empty()) {
    spool_.disown();
    return std::nullopt;
  }
  if (!spool_.own()) return Clock::now() + kOwnerPoll;
  if (compose_next(stopped)) return Clock::now();
  trim();
  if (Clock::now() < not_before_) return not_before_;
  return send_next(stopped);
}

// Soon, while the processes may still be running: names are found best then.
bool Sender::compose_next(const std::function<bool()>& stopped) {
  if (Clock::now() < compose_after_) return false;
  const std::vector<Spool::Item> items = spool_.items();
  const auto segment = std::ranges::find(items, false, &Spool::Item::is_piece);
  if (segment == items.end()) return false;
  symbolizer::Options names = options_.names;
  names.progress = [&](size_t, size_t) {
    if (stopped()) throw Stopped();
  };
  std::optional<recording::Recording> recording;
  Labels labels;
  try {
    recording = recording::read(spool_.recording_of(*segment));
    labels = spool_.labels_of(*segment);
  } catch (const Error& error) {  // damage is permanent
    options_.say(fmt::format("set aside, in {}/refused: {}", spool_.directory(), error.what()));
    spool_.set_aside(*segment);
    ++counts_.refused;
    return true;
  }
  try {
    const Composed composed = compose(std::move(*recording), std::move(labels),
                                      options_.destination.format, names, spool_.scratch());
    for (const std::string& note : composed.notes) say_once(note);
    if (composed.piece) {
      spool_.replace(*segment, *composed.piece);
    } else {
      spool_.remove(*segment);
    }
    return true;
  } catch (const Stopped&) {
    return false;
  } catch (const Error& error) {  // such as a full disk
    say_once(error.what());
    compose_after_ = Clock::now() + kStuck;
    return false;
  }
}

void Sender::trim() {
  const Spool::Trimmed trimmed = spool_.trim(options_.spool_bytes);
  counts_.dropped += trimmed.dropped.items;
  const auto say = [&](const Spool::Sum& sum, const char* which) {
    if (sum.items == 0) return;
    options_.say(fmt::format("the spool {} is full: dropped the oldest {}, {:.1f} MB, which {}",
                             spool_.directory(),
                             sum.items == 1 ? "piece" : fmt::format("{} pieces", sum.items),
                             static_cast<double>(sum.bytes) / 1e6, which));
  };
  say(trimmed.refused, "the store had refused");
  say(trimmed.dropped, "had not arrived");
}

std::optional<Clock::time_point> Sender::send_next(const std::function<bool()>& stopped) {
  const std::vector<Spool::Item> items = spool_.items();
  const auto oldest = std::ranges::find(items, true, &Spool::Item::is_piece);
  if (oldest == items.end()) return Clock::now() + kStuck;
  Delivery delivery;
  std::string about;
  try {
    const Piece piece = spool_.read(*oldest);
    about = piece.about;
    delivery = deliver(piece, options_.destination, options_.access, stopped);
  } catch (const Error& error) {  // damage is permanent
    delivery = {Delivery::Outcome::kRefused, error.what()};
  }
  if (delivery.outcome == Delivery::Outcome::kLater) {
    if (stopped()) return Clock::now();
    const Backoff::Duration wait = backoff_.failed(delivery.retry_after_s);
    not_before_ = Clock::now() + wait;
    if (!std::exchange(failing_, true)) {
      options_.say(fmt::format("{}; it is tried again, and everything waits in {}", delivery.why,
                               spool_.directory()));
    }
    return not_before_;
  }
  backoff_.succeeded();
  if (delivery.outcome == Delivery::Outcome::kRefused) {
    spool_.set_aside(*oldest);
    ++counts_.refused;
    options_.say(
        fmt::format("{}; set aside, in {}/refused: {}", delivery.why, spool_.directory(), about));
    return Clock::now();
  }
  spool_.remove(*oldest);
  ++counts_.sent;
  if (std::exchange(failing_, false)) {
    options_.say(
        fmt::format("{}: it answers again", http::printable_url(options_.destination.url)));
  }
  return Clock::now();
}

void Sender::say_once(const std::string& text) {
  if (said_.size() < kMaxReported && said_.insert(text).second) options_.say(text);
}

}  // namespace sampan::push
