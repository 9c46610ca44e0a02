// The program of the pictures in docs/images (screenshots.js): threads that work and wait, with
// functions that have readable names.
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace shop {

std::mutex stock_mutex;
std::unordered_map<std::string, int> stock;

__attribute__((noinline)) std::string read_order(std::mt19937& random) {
  std::string order;
  for (int i = 0; i < 400; ++i) order += static_cast<char>('a' + random() % 26);
  return order;
}

__attribute__((noinline)) std::vector<std::string> split(const std::string& order) {
  std::vector<std::string> words;
  for (size_t at = 0; at + 4 <= order.size(); at += 4) words.push_back(order.substr(at, 4));
  return words;
}

__attribute__((noinline)) void book(const std::vector<std::string>& words) {
  const std::lock_guard lock(stock_mutex);
  for (const std::string& word : words) ++stock[word];
}

__attribute__((noinline)) double price(const std::vector<std::string>& words, unsigned depth) {
  std::vector<std::string> sorted = words;
  std::sort(sorted.begin(), sorted.end());
  double sum = 0;
  for (const std::string& word : sorted) {
    sum += static_cast<double>(std::accumulate(word.begin(), word.end(), 0));
  }
  return depth == 0 ? sum : sum + price(sorted, depth - 1);
}

__attribute__((noinline)) double sell(std::mt19937& random) {
  const std::vector<std::string> words = split(read_order(random));
  book(words);
  return price(words, 3);
}

using Clock = std::chrono::steady_clock;

double run(const char* name, unsigned seed, std::chrono::milliseconds pause,
           Clock::time_point end) {
  pthread_setname_np(pthread_self(), name);
  std::mt19937 random(seed);
  double turnover = 0;
  while (Clock::now() < end) {
    const Clock::time_point busy = Clock::now() + std::chrono::milliseconds(60);
    while (Clock::now() < busy) turnover += sell(random);
    std::this_thread::sleep_for(pause);
  }
  return turnover;
}

}  // namespace shop

int main() {
  using std::chrono::milliseconds;
  const auto end = shop::Clock::now() + std::chrono::seconds(4);
  std::vector<std::thread> threads;
  threads.emplace_back(shop::run, "till-1", 1, milliseconds(20), end);
  threads.emplace_back(shop::run, "till-2", 2, milliseconds(200), end);
  threads.emplace_back(shop::run, "till-3", 3, milliseconds(600), end);
  for (std::thread& thread : threads) thread.join();
}
