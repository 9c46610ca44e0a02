// What slow spans do differently: planted causes are found, and nothing is where nothing was
// planted. Programs are simulated: what they do, and samples of it every 4 ms.
#include "profile/span_explain.h"
#include "base/units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "profile/frames.h"
#include "profile/statistics.h"
#include "support/text_markers.h"
#include "support/text_profile.h"

namespace sampan::profile {
namespace {

// One sample of each thing that a request can do; its number is the sample's.
constexpr const char* kDoings =
    "main;handle;parse 1\n"
    "main;handle;compute;memcpy 1\n"
    "main;handle;render;memcpy 1\n"
    "main;handle;slow_path;memcpy 1\n"
    "main;handle;lock;~futex 1\n"
    "main;handle;read;~read 1\n"
    "~runnable 1\n";
enum Doing { kParse, kCompute, kRender, kSlowPath, kLock, kRead, kRunnable };

struct Segment {
  Doing doing;
  uint64_t ns;
};
using Random = std::mt19937;
// What a request does, one after the other.
using Request = std::function<std::vector<Segment>(Random&)>;

double normal(Random& random) {
  return std::normal_distribution<double>()(random);
}
bool one_in(Random& random, unsigned n) {
  return random() % n == 0;
}
// About so long.
uint64_t about(double ns, double spread, Random& random) {
  return static_cast<uint64_t>(ns * std::exp(spread * normal(random)));
}

Profile simulate(const Request& request, unsigned requests, unsigned seed) {
  Random random(seed);
  Profile profile = test::profile_of(kDoings);
  const std::vector<Sample> doings = std::move(profile.samples);
  profile.samples.clear();
  test::add_markers(&profile, "span 100 0 0 request id=1\n");
  const Span first = profile.markers.spans[0];
  profile.markers.spans.clear();
  SessionNs now = 0, next_sample = test::kSamplePeriod;
  for (unsigned i = 0; i < requests; ++i) {
    Span span = first;
    span.id = i + 1;
    span.begin_ns = now;
    for (const Segment& segment : request(random)) {
      now += segment.ns;
      for (; next_sample <= now; next_sample += test::kSamplePeriod) {
        Sample sample = doings[segment.doing];
        sample.time_ns = next_sample;
        sample.weight_ns = test::kSamplePeriod;
        profile.samples.push_back(sample);
      }
    }
    span.end_ns = now;
    profile.markers.spans.push_back(span);
    now += random() % (3 * kNsPerMs);
    next_sample = std::max(next_sample, now + random() % test::kSamplePeriod);
  }
  return profile;
}

SpanExplanation explain(const Profile& profile) {
  SampledSpans sampled(profile);
  return explain_span(select(profile), "request", sampled);
}

std::set<std::string> named(const Profile& profile, const SpanExplanation& explanation) {
  std::set<std::string> names;
  for (const SpanCause& cause : explanation.causes) {
    names.insert(std::string(function_name(profile, cause.function)));
  }
  return names;
}

std::vector<Segment> usual(Random& random) {
  return {{kParse, about(1 * kNsPerMs, 0.2, random)},
          {kCompute, about(5 * kNsPerMs, 0.2, random)},
          {kRead, about(2 * kNsPerMs, 0.2, random)},
          {kRender, about(2 * kNsPerMs, 0.2, random)}};
}

// In how many of 100 runs something is named.
unsigned runs_with_causes(const Request& request, unsigned requests) {
  unsigned runs = 0, compared = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    const Profile profile = simulate(request, requests, seed);
    const SpanExplanation explanation = explain(profile);
    compared += explanation.too_few.empty();
    runs += !explanation.causes.empty();
  }
  EXPECT_GE(compared, 80u) << "others had too few samples";
  return runs;
}

// At a confidence of 95 %, more than 10 of 100 runs would happen once in a hundred times.
constexpr unsigned kMostRuns = 10;

TEST(SpanExplain, NamesNothingWhereTheSlowDoAsTheOthers) {
  // All the same, some longer.
  EXPECT_LE(runs_with_causes(
                [](Random& random) {
                  std::vector<Segment> segments;
                  const uint64_t pieces = about(20, 0.6, random);
                  for (uint64_t i = 0; i < pieces; ++i) {
                    const Doing doings[] = {kParse, kCompute, kCompute, kRead, kRender};
                    segments.push_back({doings[random() % 5], 500 * kNsPerUs});
                  }
                  return segments;
                },
                1000),
            kMostRuns);
}

TEST(SpanExplain, NamesNothingWhereRequestsAreOfTwoKinds) {
  EXPECT_LE(
      runs_with_causes(
          [](Random& random) -> std::vector<Segment> {
            return {{one_in(random, 30) ? kParse : kCompute, about(10 * kNsPerMs, 0.5, random)}};
          },
          1000),
      kMostRuns);
}

TEST(SpanExplain, NamesNothingWhereTheSlowAreMuchLongerInBursts) {
  EXPECT_LE(runs_with_causes(
                [](Random& random) {
                  std::vector<Segment> segments;
                  const double part = std::uniform_real_distribution<double>(0.01, 1)(random);
                  const auto bursts = static_cast<unsigned>(1 / part);
                  for (unsigned i = 0; i < bursts; ++i) {
                    const Doing doings[] = {kParse, kCompute, kRead, kRender};
                    segments.push_back({doings[random() % 4], 8 * kNsPerMs});
                  }
                  return segments;
                },
                1000),
            kMostRuns);
}

TEST(SpanExplain, NamesNothingWhereTheMachineIsSlow) {
  EXPECT_LE(runs_with_causes(
                [](Random& random) {
                  std::vector<Segment> segments = usual(random);
                  if (one_in(random, 100)) segments.push_back({kRunnable, 30 * kNsPerMs});
                  return segments;
                },
                1000),
            kMostRuns);
}

TEST(SpanExplain, NamesNothingOfShortSpansWithFewSamples) {
  EXPECT_LE(runs_with_causes(
                [](Random& random) -> std::vector<Segment> {
                  return {
                      {kParse, about(100 * kNsPerUs, 0.3, random)},
                      {one_in(random, 4) ? kRender : kCompute, about(100 * kNsPerUs, 0.3, random)}};
                },
                20'000),
            kMostRuns);
}

// In how many of 20 runs just these are named, or some of them.
unsigned runs_that_name(const std::set<std::string>& wanted, const Request& request,
                        unsigned requests) {
  unsigned runs = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Profile profile = simulate(request, requests, seed);
    const std::set<std::string> found = named(profile, explain(profile));
    runs +=
        !found.empty() && std::includes(wanted.begin(), wanted.end(), found.begin(), found.end());
  }
  return runs;
}

TEST(SpanExplain, FindsTheLockThatOneInAHundredTakes) {
  EXPECT_GE(runs_that_name(
                {"[futex]", "lock"},
                [](Random& random) {
                  std::vector<Segment> segments = usual(random);
                  if (one_in(random, 100)) segments.push_back({kLock, 20 * kNsPerMs});
                  return segments;
                },
                1000),
            19u);
}

TEST(SpanExplain, FindsTheSlowPathThatOneInAHundredTakes) {
  EXPECT_GE(runs_that_name(
                {"slow_path", "memcpy"},
                [](Random& random) {
                  std::vector<Segment> segments = usual(random);
                  if (one_in(random, 100)) {
                    segments.insert(segments.begin() + 1, {kSlowPath, 15 * kNsPerMs});
                  }
                  return segments;
                },
                1000),
            19u);
}

TEST(SpanExplain, FindsItThoughTheMachineWasSuspendedMeanwhile) {
  Profile profile = simulate(
      [](Random& random) {
        std::vector<Segment> segments = usual(random);
        if (one_in(random, 100)) segments.push_back({kLock, 20 * kNsPerMs});
        return segments;
      },
      1000, 1);
  profile.markers.spans.back().end_ns += 60'000 * kNsPerMs;
  EXPECT_EQ(named(profile, explain(profile)), (std::set<std::string>{"[futex]", "lock"}));
}

TEST(SpanExplain, FindsWhatTheSlowDoMoreOfThanTheOthers) {
  EXPECT_GE(runs_that_name(
                {"compute", "memcpy"},
                [](Random& random) {
                  std::vector<Segment> segments = usual(random);
                  if (one_in(random, 100)) segments[1].ns *= 10;
                  return segments;
                },
                3000),
            19u);
}

TEST(SpanExplain, SaysHowMuch) {
  unsigned number = 0;
  const Profile profile = simulate(
      [&](Random&) -> std::vector<Segment> {
        return {{kCompute, 8 * kNsPerMs}, {kLock, ++number % 100 == 0 ? 40 * kNsPerMs : 0}};
      },
      1000, 1);
  const SpanExplanation explanation = explain(profile);
  EXPECT_EQ(explanation.slow.spans, 10u);
  EXPECT_EQ(explanation.others.spans, 990u);
  EXPECT_EQ(explanation.slow_from_ns, 48 * kNsPerMs);
  EXPECT_DOUBLE_EQ(explanation.slow.wall_ns, 48. * kNsPerMs);
  EXPECT_DOUBLE_EQ(explanation.others.wall_ns, 8. * kNsPerMs);
  EXPECT_NEAR(explanation.slow.cpu_ns, 8. * kNsPerMs, 1. * kNsPerMs);
  EXPECT_NEAR(explanation.slow.waiting_ns, 40. * kNsPerMs, 1. * kNsPerMs);
  EXPECT_NEAR(explanation.others.cpu_ns, 8. * kNsPerMs, 1. * kNsPerMs);
  ASSERT_FALSE(explanation.causes.empty());
  const SpanCause& cause = explanation.causes[0];
  EXPECT_EQ(cause.slow_spans, 10u);
  EXPECT_NEAR(cause.slow_ns, 40. * kNsPerMs, 1. * kNsPerMs);
  EXPECT_EQ(cause.other_ns, 0);
  EXPECT_LT(cause.p, 1e-6);
}

TEST(SpanExplain, SaysThatThereIsTooLittleToTell) {
  const Profile few = simulate(usual, 50, 1);
  EXPECT_NE(explain(few).too_few.find("only 50 of them"), std::string::npos)
      << explain(few).too_few;
  Profile unsampled = simulate(usual, 500, 1);
  unsampled.samples.resize(10);
  EXPECT_NE(explain(unsampled).too_few.find("samples"), std::string::npos);
  EXPECT_THROW(
      {
        SampledSpans sampled(few);
        explain_span(select(few), "reqest", sampled);
      },
      Error);
}

TEST(Tails, AreThoseOfTheTables) {
  EXPECT_NEAR(student_tail(2.776, 4), 0.025, 2e-5);
  EXPECT_NEAR(student_tail(6.314, 1), 0.05, 1e-5);
  EXPECT_NEAR(student_tail(3.250, 9), 0.005, 1e-5);
  EXPECT_NEAR(student_tail(-3.250, 9), 0.995, 1e-5);
  EXPECT_NEAR(student_tail(1.96, 100'000), 0.025, 1e-5);
  EXPECT_DOUBLE_EQ(student_tail(0, 9), 0.5);
  EXPECT_NEAR(binomial_tail(10, 0.5, 8), 56. / 1024, 1e-12);
  EXPECT_NEAR(binomial_tail(10, 0.01, 10), 1e-20, 1e-25);
  EXPECT_DOUBLE_EQ(binomial_tail(10, 0.3, 0), 1);
  EXPECT_DOUBLE_EQ(binomial_tail(10, 1, 3), 1);
  EXPECT_DOUBLE_EQ(binomial_tail(10, 0, 3), 0);
}

}  // namespace
}  // namespace sampan::profile
