// A program that has an interpreter for a while: embedding LIBRARY SCRIPT [SIGNALS]. It uses the CPU, loads the
// interpreter, runs the script, also in a thread that C code makes, ends the interpreter while another thread
// works on, and does it once more.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

namespace {

std::atomic<bool> ended, has_survivor;

double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Interpreter {
  void* library;

  template <typename Result, typename... Args>
  Result call(const char* name, Args... args) const {
    auto* function = reinterpret_cast<Result (*)(Args...)>(dlsym(library, name));
    if (function == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::exit(1);
    }
    return function(args...);
  }
};

struct Job {
  Interpreter python;
  std::string script;
};

}  // namespace

extern "C" {
[[gnu::noinline]] void native_spin(double seconds) {
  const double end = cpu_s() + seconds;
  while (cpu_s() < end) {
  }
}

void* run_in_thread(void* argument) {
  const Job& job = *static_cast<Job*>(argument);
  const int state = job.python.call<int>("PyGILState_Ensure");
  job.python.call<int>("PyRun_SimpleStringFlags", job.script.c_str(), static_cast<void*>(nullptr));
  job.python.call<void>("PyGILState_Release", state);
  native_spin(0.05);
  return nullptr;
}

// Has a state of the interpreter's while the interpreter ends.
void* outlive(void* argument) {
  const Interpreter& python = static_cast<Job*>(argument)->python;
  python.call<int>("PyGILState_Ensure");
  void* state = python.call<void*>("PyEval_SaveThread");
  has_survivor = true;
  while (!ended) native_spin(0.01);
  return state;
}
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  native_spin(0.05);
  Job job{{dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL)}, {}};
  if (job.python.library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  std::stringstream text;
  text << std::ifstream(argv[2]).rdbuf();
  job.script = text.str();
  for (int life = 0; life < 2; ++life) {
    ended = has_survivor = false;
    job.python.call<void>("Py_InitializeEx", argc > 3 ? std::atoi(argv[3]) : 1);
    job.python.call<int>("PyRun_SimpleStringFlags", job.script.c_str(),
                         static_cast<void*>(nullptr));
    void* state = job.python.call<void*>("PyEval_SaveThread");
    pthread_t thread{}, survivor{};
    pthread_create(&thread, nullptr, run_in_thread, &job);
    pthread_create(&survivor, nullptr, outlive, &job);
    pthread_join(thread, nullptr);
    while (!has_survivor) usleep(1000);  // an interpreter that has ended gives no states
    job.python.call<void>("PyEval_RestoreThread", state);
    job.python.call<int>("Py_FinalizeEx");
    native_spin(0.1);
    ended = true;
    pthread_join(survivor, nullptr);
  }
  return 0;
}
