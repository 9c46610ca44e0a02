#include "remote/serve/jobs.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace sampan::serve {
namespace {

http::Response perform(const Jobs::Work& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    return http::sentence(500, error.what());
  }
}

}  // namespace

Jobs::Jobs(unsigned threads) {
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

void Jobs::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  jobs_.clear();
}

void Jobs::add(const std::string& key, std::chrono::nanoseconds delay, Work work,
               http::Reply reply) {
  const std::lock_guard lock(mutex_);
  Job* const job = enter(key, delay, std::move(work));
  if (job != nullptr) job->replies.push_back(std::move(reply));
}

void Jobs::add(const std::string& key, std::chrono::nanoseconds delay, Work work) {
  const std::lock_guard lock(mutex_);
  enter(key, delay, std::move(work));
}

// A job that is due but has not begun counts, too: its window ends when it begins.
Jobs::Job* Jobs::same(const std::string& key, Clock::time_point now) {
  const auto found = std::ranges::find_if(jobs_, [&](const Job& job) {
    return job.key == key && (job.due <= now || now - job.added <= kShared);
  });
  return found != jobs_.end() ? &*found : nullptr;
}

Jobs::Job* Jobs::enter(const std::string& key, std::chrono::nanoseconds delay, Work work) {
  const Clock::time_point now = Clock::now();
  if (Job* const job = same(key, now)) return job;
  if (stopping_ || jobs_.size() >= kMaxWaiting) return nullptr;
  const Clock::time_point due = now + delay;
  const auto later = std::ranges::find_if(jobs_, [&](const Job& job) { return job.due > due; });
  const auto place = jobs_.insert(later, Job{key, now, due, std::move(work), {}});
  changed_.notify_one();
  return &*place;
}

void Jobs::work() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (jobs_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const Clock::time_point due = jobs_.front().due;
    if (Clock::now() < due) {
      changed_.wait_until(lock, due);
      continue;
    }
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    const http::Response response = perform(job.work);
    for (http::Reply& reply : job.replies) reply.send(response);
    lock.lock();
  }
}

}  // namespace sampan::serve
