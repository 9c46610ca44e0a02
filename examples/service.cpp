// A small service. Requests enter a queue; three pools of workers, each with its own queue, parse,
// compute and answer them. The markers show what samples cannot: which request it is, how long it
// waited, and how long the queues are.
//
//   service [--requests N] [--journal FILE]
//
// The journal is for tests. It has a line of JSON for each marker, with what the program knows of
// it. A time is a pair, read before and after the call.
#include <sampan/markers.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

FILE* journal;

unsigned long long now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<unsigned long long>(time.tv_sec) * 1'000'000'000 +
         static_cast<unsigned long long>(time.tv_nsec);
}

long tid() {
  thread_local const long mine = syscall(SYS_gettid);
  return mine;
}

struct Moment {
  unsigned long long before, after;
};

template <typename F>
Moment timed(F&& call) {
  const unsigned long long before = now();
  call();
  return {before, now()};
}

void write_span(const char* what, const char* name, uint64_t id, uint64_t parent, long begin_tid,
                Moment begin, Moment end, const std::string& text) {
  if (journal == nullptr) return;
  fprintf(journal,
          "{\"what\": \"%s\", \"name\": \"%s\", \"id\": %llu, \"parent\": %llu, \"tid\": %ld, "
          "\"end_tid\": %ld, \"begin\": [%llu, %llu], \"end\": [%llu, %llu], \"text\": \"%s\"}\n",
          what, name, static_cast<unsigned long long>(id), static_cast<unsigned long long>(parent),
          begin_tid, tid(), begin.before, begin.after, end.before, end.after, text.c_str());
}

// A step of a request in one thread: a span as sampan::Span makes it, and a line in the journal.
class Step {
 public:
  Step(const char* name, uint64_t parent, const std::string& text = "")
      : name_(name), text_(text), parent_(parent) {
    begin_ = timed([&] { sampan_span_begin_child(name, parent); });
    if (!text.empty()) sampan_span_text(text.c_str());
    id_ = sampan_span_current();
  }
  ~Step() {
    const Moment end = timed([] { sampan_span_end(); });
    write_span("span", name_, id_, parent_, tid(), begin_, end, text_);
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  uint64_t id() const { return id_; }

 private:
  const char* name_;
  std::string text_;
  uint64_t parent_, id_;
  Moment begin_;
};

void count(const char* name, double change) {
  sampan_counter_add(name, change);
  if (journal == nullptr) return;
  fprintf(journal, "{\"what\": \"counter\", \"name\": \"%s\", \"change\": %g, \"tid\": %ld}\n",
          name, change, tid());
}

// One request from its arrival to its answer: a span across threads, and a section.
struct Request {
  explicit Request(unsigned which) : number(which), name("request_" + std::to_string(which)) {
    section_started = timed([this] { sampan_section_start(name.c_str()); });
    span_started = timed([this] { span = sampan_span_start("request"); });
    started_by = tid();
  }
  ~Request() {
    const Moment span_end = timed([this] { sampan_span_stop(span); });
    const Moment section_end = timed([this] { sampan_section_stop(name.c_str()); });
    write_span("across", "request", span, 0, started_by, span_started, span_end, "");
    if (journal == nullptr) return;
    fprintf(journal,
            "{\"what\": \"section\", \"name\": \"%s\", \"begin\": [%llu, %llu], "
            "\"end\": [%llu, %llu]}\n",
            name.c_str(), section_started.before, section_started.after, section_end.before,
            section_end.after);
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  unsigned number;
  std::string name;
  uint64_t span = 0;
  uint64_t sum = 0;
  long started_by = 0;
  Moment section_started{}, span_started{};
};
using RequestPointer = std::unique_ptr<Request>;

class Queue {
 public:
  explicit Queue(const char* counter) : counter_(counter) {}

  // Waits while the queue is full.
  void push(RequestPointer request) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return requests_.size() < kMost; });
    requests_.push_back(std::move(request));
    count(counter_, 1);
    changed_.notify_all();
  }
  // Waits while the queue is empty. Null when the queue is closed and empty.
  RequestPointer pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || !requests_.empty(); });
    if (requests_.empty()) return nullptr;
    RequestPointer request = std::move(requests_.front());
    requests_.pop_front();
    count(counter_, -1);
    changed_.notify_all();
    return request;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  static constexpr size_t kMost = 64;

  const char* counter_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<RequestPointer> requests_;
  bool closed_ = false;
};

// Work whose result depends only on its arguments.
__attribute__((noinline)) uint64_t churn(uint64_t seed, unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i) seed = seed * 6364136223846793005u + 1442695040888963407u;
  return seed;
}

class Service {
 public:
  // Returns the sum of all answers.
  uint64_t serve(unsigned requests) {
    std::vector<std::thread> parsers = pool("parser", 1, arrived_, [this](RequestPointer request) {
      const Step step("parse", request->span, std::to_string(request->number));
      request->sum = churn(request->number, 20'000);
      parsed_.push(std::move(request));
    });
    std::vector<std::thread> computers =
        pool("computer", 2, parsed_, [this](RequestPointer request) {
          const Step step("compute", request->span);
          compute(*request, step.id());
          computed_.push(std::move(request));
        });
    std::vector<std::thread> answerers =
        pool("answerer", 3, computed_, [this](RequestPointer request) {
          const Step step("answer", request->span);
          total_ += request->sum;
          count("requests answered", 1);
        });
    for (unsigned i = 0; i < requests; ++i) arrived_.push(std::make_unique<Request>(i));
    end(arrived_, parsers);
    end(parsed_, computers);
    end(computed_, answerers);
    return total_;
  }

 private:
  static constexpr unsigned kWorkers = 2;

  template <typename F>
  static std::vector<std::thread> pool(const char* role, int place, Queue& queue, F handle) {
    std::vector<std::thread> workers;
    for (unsigned i = 1; i <= kWorkers; ++i) {
      workers.emplace_back([role, place, &queue, handle, i] {
        sampan_thread_label((std::string(role) + " " + std::to_string(i)).c_str());
        sampan_thread_order(place);
        while (RequestPointer request = queue.pop()) handle(std::move(request));
      });
    }
    return workers;
  }

  static void end(Queue& queue, std::vector<std::thread>& workers) {
    queue.close();
    for (std::thread& worker : workers) worker.join();
  }

  void compute(Request& request, uint64_t parent) {
    {
      const Step step("look up", parent);
      request.sum ^= churn(request.sum, 10'000);
    }
    const Step step("calculate", parent);
    request.sum ^= churn(request.sum, 50'000);
    if (request.number % 10 != 0) return;
    const Moment moment =
        timed([&] { sampan_event_text("not in the cache", request.name.c_str()); });
    const Step slow("calculate again", step.id());
    request.sum ^= churn(request.sum, 200'000);
    if (journal == nullptr) return;
    fprintf(journal,
            "{\"what\": \"event\", \"name\": \"not in the cache\", \"text\": \"%s\", \"tid\": %ld, "
            "\"time\": [%llu, %llu]}\n",
            request.name.c_str(), tid(), moment.before, moment.after);
  }

  Queue arrived_{"queue: arrived"}, parsed_{"queue: parsed"}, computed_{"queue: computed"};
  std::atomic<uint64_t> total_ = 0;
};

}  // namespace

int main(int count, char** words) {
  unsigned requests = 100;
  for (int i = 1; i + 1 < count; i += 2) {
    if (strcmp(words[i], "--requests") == 0) requests = static_cast<unsigned>(atoi(words[i + 1]));
    if (strcmp(words[i], "--journal") == 0) journal = fopen(words[i + 1], "w");
  }
  // Line buffered: a test kills the service and reads what it had written by then.
  if (journal != nullptr) setvbuf(journal, nullptr, _IOLBF, BUFSIZ);
  sampan_process_label("service");
  Service service;
  printf("%u requests, %016llx\n", requests,
         static_cast<unsigned long long>(service.serve(requests)));
  if (journal != nullptr) fclose(journal);
  return 0;
}
