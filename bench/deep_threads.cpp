// Threads that compute at a known depth of calls, until they are killed: deep_threads THREADS DEPTH
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

volatile unsigned long sink;

[[gnu::noinline]] void descend(int depth) {
  if (depth > 0) {
    descend(depth - 1);
    sink = sink + 1;  // no tail call
    return;
  }
  while (sink + 1 != 0) sink = sink + 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::vector<std::thread> threads;
  for (int i = 1; i < std::atoi(argv[1]); ++i) threads.emplace_back(descend, std::atoi(argv[2]));
  descend(std::atoi(argv[2]));
}
