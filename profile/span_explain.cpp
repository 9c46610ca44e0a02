#include "profile/span_explain.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/error.h"
#include "base/nearest.h"
#include "profile/frames.h"
#include "profile/markers.h"
#include "profile/spans.h"
#include "profile/statistics.h"

namespace sampan::profile {
namespace {

constexpr uint64_t kFewestSpans = 100;
constexpr uint64_t kFewestSlow = 5;
constexpr uint64_t kFewestSlowSamples = 5;
constexpr uint64_t kFewestOtherSamples = 50;
constexpr uint64_t kFewOfFunction = 5;  // of a function, in all spans: fewer are not tested
// A smaller part of the slow spans' sampled time is not an explanation. It is a part of the sampled
// time, not of their durations: one suspend of the machine would make everything else small.
constexpr double kSmallestPart = 0.05;

// Samples of one span, or of one function in it.
struct Share {
  uint64_t samples = 0;
  double ns = 0;
  void add(double more_ns) {
    ++samples;
    ns += more_ns;
  }
};

// The shares of one function in the spans that have it.
struct FunctionShares {
  uint32_t function = kNone;
  bool is_wait = false;
  std::unordered_map<uint32_t, Share> by_span = {};  // by the number of the span
};

struct StackFunction {
  uint32_t function;
  bool is_wait;
};

// Sums over one group of spans.
struct Group {
  uint64_t spans = 0;
  uint64_t samples = 0;
  double ns = 0;
  double samples_squared = 0, ns_squared = 0;  // sums of the squares of each span's
};

class Explanation {
 public:
  Explanation(const View& view, const ExplainOptions& options)
      : view_(view), profile_(*view.profile), spans_(profile_.markers.spans) {
    result_.options = options;
  }

  SpanExplanation finish(const std::string& name, SampledSpans& sampled) {
    find_spans(name);
    choose_slow();
    add_samples(sampled);
    add_means();
    result_.too_few = too_few();
    if (result_.too_few.empty()) compare();
    return std::move(result_);
  }

 private:
  void find_spans(const std::string& name) {
    std::vector<std::string> known;
    uint32_t last = kNone;
    for (const uint32_t span : markers_of(view_).spans) {
      const std::string& text = profile_.markers.texts[spans_[span].name];
      if (text == name) {
        occurrences_.push_back(span);
        result_.across |= spans_[span].kind == SpanKind::kAcross;
      } else if (spans_[span].name != last && known.size() < kMostCandidates) {
        known.push_back(text);
      }
      last = spans_[span].name;
    }
    if (occurrences_.empty()) {
      throw Error("no span is called '{}'{}", name, did_you_mean(name, known));
    }
    result_.name = spans_[occurrences_[0]].name;
  }

  // Puts the slow spans first, and decides how many they are.
  void choose_slow() {
    const auto wanted = static_cast<uint64_t>(
        std::ceil(static_cast<double>(occurrences_.size()) * result_.options.slow_part));
    slow_ = std::min<uint64_t>(std::max(wanted, kFewestSlow), occurrences_.size());
    std::stable_sort(occurrences_.begin(), occurrences_.end(), [&](uint32_t a, uint32_t b) {
      return duration_ns(spans_[a]) > duration_ns(spans_[b]);
    });
    result_.slow_from_ns = duration_ns(spans_[occurrences_[slow_ - 1]]);
    number_of_.assign(spans_.size(), kNone);
    for (uint32_t i = 0; i < occurrences_.size(); ++i) number_of_[occurrences_[i]] = i;
    shares_.resize(occurrences_.size());
  }

  bool is_slow(uint32_t number) const { return number < slow_; }
  SpanMeans& means_of(uint32_t number) { return is_slow(number) ? result_.slow : result_.others; }

  void add_samples(SampledSpans& sampled) {
    sampled.for_each(view_.state, [&](const Sample& sample, uint32_t innermost,
                                      std::span<const SpanPiece> pieces, uint64_t) {
      if (sample.wait == kNone) {
        each_around(innermost, sampled.parents(), [&](uint32_t number) {
          add_to(number, sample, static_cast<double>(sample.weight_ns));
        });
        return;
      }
      for (const SpanPiece& piece : pieces) {
        each_around(piece.innermost, sampled.parents(),
                    [&](uint32_t number) { inside_[number] += static_cast<double>(piece.ns); });
      }
      for (const auto& [number, ns] : inside_) add_to(number, sample, ns);
      inside_.clear();
    });
  }

  template <typename Visit>
  void each_around(uint32_t span, const std::vector<uint32_t>& parents, const Visit& visit) {
    for (; span != kNone; span = parents[span]) {
      if (number_of_[span] != kNone) visit(number_of_[span]);
    }
  }

  void add_to(uint32_t number, const Sample& sample, double ns) {
    SpanMeans& means = means_of(number);
    if (sample.wait != kNone && profile_.is_runnable(sample.wait)) {
      means.runnable_ns += ns;
      return;
    }
    (sample.wait == kNone ? means.cpu_ns : means.waiting_ns) += ns;
    shares_[number].add(ns);
    for (const StackFunction& of : functions_of(sample.stack)) {
      const auto [place, is_new] = rows_.try_emplace(of.function, functions_.size());
      if (is_new) functions_.push_back({.function = of.function, .is_wait = of.is_wait});
      functions_[place->second].by_span[number].add(ns);
    }
  }

  // Each once.
  const std::vector<StackFunction>& functions_of(uint32_t stack) {
    const auto [place, is_new] = stacks_.try_emplace(stack);
    if (!is_new) return place->second;
    leaf_to_root(profile_, stack, &frames_);
    for (const Frame& frame : frames_) {
      const auto is_same = [&](const StackFunction& of) { return of.function == frame.function; };
      if (frame.function == kNone ||
          std::any_of(place->second.begin(), place->second.end(), is_same)) {
        continue;
      }
      place->second.push_back({frame.function, profile_.locations[frame.location].wait != kNone});
    }
    return place->second;
  }

  void add_means() {
    for (uint32_t i = 0; i < occurrences_.size(); ++i) {
      SpanMeans& means = means_of(i);
      Group& group = is_slow(i) ? slow_group_ : other_group_;
      ++means.spans;
      means.wall_ns += static_cast<double>(duration_ns(spans_[occurrences_[i]]));
      ++group.spans;
      group.samples += shares_[i].samples;
      group.ns += shares_[i].ns;
      const auto samples = static_cast<double>(shares_[i].samples);
      group.samples_squared += samples * samples;
      group.ns_squared += shares_[i].ns * shares_[i].ns;
    }
    result_.slow.samples = slow_group_.samples;
    result_.others.samples = other_group_.samples;
    for (SpanMeans* means : {&result_.slow, &result_.others}) {
      for (double* sum :
           {&means->wall_ns, &means->cpu_ns, &means->waiting_ns, &means->runnable_ns}) {
        *sum /= static_cast<double>(std::max<uint64_t>(means->spans, 1));
      }
    }
  }

  std::string too_few() const {
    const auto too_few = [](uint64_t n, const std::string& of, uint64_t least) {
      return (n == 1 ? "there is only " : "there are only ") + std::to_string(n) + " " + of +
             ", too few to compare: at least " + std::to_string(least) + " are needed";
    };
    if (occurrences_.size() < kFewestSpans) {
      return too_few(occurrences_.size(), "of them", kFewestSpans);
    }
    if (slow_group_.samples < kFewestSlowSamples) {
      return too_few(
          slow_group_.samples,
          slow_group_.samples == 1 ? "sample in the slow ones" : "samples in the slow ones",
          kFewestSlowSamples);
    }
    if (other_group_.samples < kFewestOtherSamples) {
      return too_few(other_group_.samples, "samples in the others", kFewestOtherSamples);
    }
    return "";
  }

  void compare() {
    std::erase_if(functions_, [](const FunctionShares& of) {
      uint64_t samples = 0;
      for (const auto& [number, share] : of.by_span) samples += share.samples;
      return samples < kFewOfFunction;
    });
    result_.functions = functions_.size();
    const double done_ns = result_.slow.cpu_ns + result_.slow.waiting_ns;
    for (const FunctionShares& of : functions_) {
      SpanCause cause = judge(of);
      const bool matters = cause.slow_ns - cause.other_ns >= kSmallestPart * done_ns;
      if (matters && cause.p <= 1 - result_.options.confidence) result_.causes.push_back(cause);
    }
    std::sort(result_.causes.begin(), result_.causes.end(),
              [](const SpanCause& a, const SpanCause& b) {
                const double x = a.slow_ns - a.other_ns, y = b.slow_ns - b.other_ns;
                return x != y ? x > y : a.function < b.function;
              });
  }

  SpanCause judge(const FunctionShares& of) const {
    SpanCause cause{.function = of.function, .is_wait = of.is_wait};
    Share slow, others;
    for (const auto& [number, share] : of.by_span) {
      Share& sum = is_slow(number) ? slow : others;
      sum.samples += share.samples;
      sum.ns += share.ns;
      cause.slow_spans += is_slow(number);
    }
    cause.slow_ns = slow.ns / static_cast<double>(slow_group_.spans);
    cause.other_ns = others.ns / static_cast<double>(other_group_.spans);
    const double p =
        2 * std::min(p_of_hits(of, others, cause.slow_spans), p_of_share(of, slow, others));
    cause.p = std::min(1.0, p * static_cast<double>(functions_.size()));
    return cause;
  }

  double p_of_hits(const FunctionShares& of, const Share& others, uint64_t hits) const {
    const auto all = static_cast<double>(other_group_.samples);
    const auto of_function = static_cast<double>(others.samples);
    const double part = of_function / all;
    double squares = part * part * other_group_.samples_squared;
    for (const auto& [number, share] : of.by_span) {
      if (is_slow(number)) continue;
      const double expected = part * static_cast<double>(shares_[number].samples);
      const double residual = static_cast<double>(share.samples) - expected;
      squares += residual * residual - expected * expected;
    }
    // An upper bound, with one more sample for functions that the others do not have.
    const double most = (of_function + 2 * std::sqrt(std::max(squares, 0.)) + 1) / all;
    const auto tries = static_cast<double>(slow_group_.spans);
    const double mean = most * static_cast<double>(slow_group_.samples);
    if (static_cast<double>(hits) < mean + 1) return 1;  // where the bound does not hold
    return binomial_tail(slow_group_.spans, mean / tries, hits);
  }

  double p_of_share(const FunctionShares& of, const Share& slow, const Share& others) const {
    const double part = others.ns / other_group_.ns;
    double squares[2] = {part * part * other_group_.ns_squared,
                         part * part * slow_group_.ns_squared};
    for (const auto& [number, share] : of.by_span) {
      const double expected = part * shares_[number].ns;
      const double residual = share.ns - expected;
      squares[is_slow(number)] += residual * residual - expected * expected;
    }
    const double more = slow_group_.ns / other_group_.ns;
    const double one_sample = slow_group_.ns / static_cast<double>(slow_group_.samples);
    const double variance = std::max(squares[1], squares[0] * more) + squares[0] * more * more +
                            one_sample * one_sample;
    const double excess = slow.ns - part * slow_group_.ns;
    return student_tail(excess / std::sqrt(variance), slow_group_.spans - 1);
  }

  const View& view_;
  const Profile& profile_;
  const std::vector<Span>& spans_;
  SpanExplanation result_;
  std::vector<uint32_t> occurrences_;  // spans of the name, slowest first
  uint64_t slow_ = 0;                  // how many of them are the slow ones
  std::vector<uint32_t> number_of_;    // by span: its place in occurrences_, or kNone
  std::vector<Share> shares_;          // by number
  Group slow_group_, other_group_;
  std::vector<FunctionShares> functions_;
  std::unordered_map<uint32_t, size_t> rows_;  // by function, into functions_
  std::unordered_map<uint32_t, std::vector<StackFunction>> stacks_;
  std::vector<Frame> frames_;                    // scratch
  std::unordered_map<uint32_t, double> inside_;  // scratch: time of a wait, by number
};

}  // namespace

SpanExplanation explain_span(const View& view, const std::string& name, SampledSpans& sampled,
                             const ExplainOptions& options) {
  return Explanation(view, options).finish(name, sampled);
}

}  // namespace sampan::profile
