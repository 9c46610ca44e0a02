#include "remote/serve/jobs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace sampan::serve {
namespace {

using std::chrono::milliseconds;

// Jobs without replies; for those with clients see tests/e2e/serve_test.py.
TEST(Jobs, ShareEqualWork) {
  std::atomic<int> done = 0;
  std::promise<void> begun, go;
  Jobs jobs(1);
  jobs.add("first", {}, [&] {
    begun.set_value();
    go.get_future().wait();
    return http::Response();
  });
  begun.get_future().wait();  // the only thread is busy now
  for (int i = 0; i < 200; ++i) {
    jobs.add("same", {}, [&] {
      ++done;
      return http::Response();
    });
  }
  std::promise<void> last;
  jobs.add("last", {}, [&] {
    last.set_value();
    return http::Response();
  });
  go.set_value();
  last.get_future().wait();
  EXPECT_EQ(done, 1);
}

TEST(Jobs, RunInOrderOfTheirDueTimes) {
  std::string order;
  std::promise<void> last;
  Jobs jobs(1);
  jobs.add("late", milliseconds(400), [&] {
    order += "late ";
    last.set_value();
    return http::Response();
  });
  jobs.add("soon", milliseconds(200), [&] {
    order += "soon ";
    return http::Response();
  });
  jobs.add("now", {}, [&] {
    order += "now ";
    return http::Response();
  });
  last.get_future().wait();
  EXPECT_EQ(order, "now soon late ");
}

TEST(Jobs, DoNotRunBeforeTheyAreDue) {
  std::promise<Jobs::Clock::time_point> done;
  const auto begin = Jobs::Clock::now();
  Jobs jobs(3);
  jobs.add("a", milliseconds(300), [&] {
    done.set_value(Jobs::Clock::now());
    return http::Response();
  });
  EXPECT_GE(done.get_future().get() - begin, milliseconds(300));
}

TEST(Jobs, ThatAreNotDueDoNotDelayTheEnd) {
  std::atomic<bool> done = false;
  {
    Jobs jobs(2);
    jobs.add("in an hour", std::chrono::hours(1), [&] {
      done = true;
      return http::Response();
    });
  }
  EXPECT_FALSE(done);
}

TEST(Jobs, ThatThrowAreFinished) {
  std::promise<void> next;
  Jobs jobs(1);
  jobs.add("a", {}, []() -> http::Response { throw std::runtime_error("no"); });
  jobs.add("b", {}, [&] {
    next.set_value();
    return http::Response();
  });
  next.get_future().wait();
}

}  // namespace
}  // namespace sampan::serve
