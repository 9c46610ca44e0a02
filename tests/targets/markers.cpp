// The program of the tests of markers: each word is one thing that programs do, or do wrong. It
// prints what a test should find.
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sampan/markers.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

// The same function, by a name that is not interposed.
extern "C" decltype(clone) __clone;  // NOLINT(readability-identifier-naming)

namespace {

void everything() {
  errno = 77;
  sampan_span_begin("outer");
  const uint64_t outer = sampan_span_current();
  {
    sampan::Span inner("inner", "value");
    sampan_span_text("another value");
  }
  const uint64_t across = sampan_span_start("across");
  std::thread([across] {
    sampan_span_begin_child("elsewhere", across);
    sampan_span_end();
    sampan_span_stop(across);
  }).join();
  const uint64_t child = sampan_span_start_child("child", across);
  sampan_span_stop(child);
  sampan_span_stop(0);
  sampan_span_end();
  sampan_event("event");
  sampan_event_text("event", "text");
  sampan_event_at("event", 12345);
  sampan_counter_add("counter", 2);
  sampan_counter_add("counter", -0.5);
  sampan_counter_set("counter", 40);
  sampan_section_start("section");
  sampan_thread_section_start("section");
  sampan_section_stop("section");
  sampan_thread_section_stop("section");
  sampan_thread_label("label");
  sampan_thread_order(-3);
  sampan_process_label("process");
  sampan_process_order(4);
  printf("%d %llu %llu %llu\n", errno, static_cast<unsigned long long>(outer),
         static_cast<unsigned long long>(across), static_cast<unsigned long long>(child));
}

void unmatched() {
  sampan_span_end();
  sampan_span_end();
  sampan_section_stop("never started");
  sampan_thread_section_start("of the thread");
  sampan_section_stop("of the thread");
  sampan_section_start("twice");
  sampan_section_start("twice");
  for (int i = 0; i < 3; ++i) sampan_section_stop("twice");
  sampan_span_begin("fine");
  sampan_span_end();
}

void odd_names() {
  std::string name(10'000, 'x');
  sampan_event(name.c_str());
  name.back() = 'y';
  sampan_event(name.c_str());
  std::string accents;
  while (accents.size() < 10'000) accents += "\xc3\xa9";
  sampan_event(accents.c_str());
  sampan_event("a\nb;c\"d,e/../f\xff\xfe<&>");
  sampan_event(nullptr);
  sampan_event_text("", name.c_str());
  sampan_section_start(name.c_str());
  sampan_section_stop(name.c_str());
}

// Texts that do not end in a zero, long ones, and a span that is handed to another thread.
void texts_of_cpp() {
  const std::string_view words = "job and more";
  const std::string_view job = words.substr(0, 3);
  { const sampan::Span span(job, std::to_string(17)); }
  { const sampan::Span span{"task", std::to_string(16)}; }
  std::string name(10'000, 'x');
  { const sampan::Span span{name}; }
  name.back() = 'y';
  { const sampan::Span span{std::string_view(name)}; }
  { const sampan::Section section{job}; }
  { const sampan::ThreadSection section{std::to_string(18)}; }
  sampan::AsyncSpan request("request", std::to_string(19));
  const uint64_t id = request.id();
  std::thread([request = std::move(request)] {
    const sampan::AsyncSpan part("part", {}, request.id());
  }).join();
  printf("%llu\n", static_cast<unsigned long long>(id));
}

// The first hundred thousand with time to read them, the others faster than anyone reads.
void distinct_names() {
  for (int i = 0; i < 1'000'000; ++i) {
    if (i < 100'000 && i % 250 == 0) usleep(1'000);
    sampan_span_begin(("name " + std::to_string(i)).c_str());
    sampan_span_end();
  }
  sleep(3);  // until the lane is drained, also where the reader shares its CPU with others
  sampan_span_begin("name 5");
  sampan_span_end();
  sampan_span_begin("name last");
  sampan_span_end();
  sampan_counter_add("counter", 1);
}

void no_numbers() {
  sampan_counter_set("counter", 1);
  sampan_counter_add("counter", std::numeric_limits<double>::quiet_NaN());
  sampan_counter_set("counter", std::numeric_limits<double>::infinity());
  sampan_counter_add("counter", 2);
}

void deep() {
  for (int i = 0; i < 200; ++i) sampan_span_begin("deep");
  sampan_span_text("of a span that is not there");
  for (int i = 0; i < 200; ++i) sampan_span_end();
  sampan_span_begin("after");
  sampan_span_end();
}

void after_fork(pid_t child) {
  if (child != 0) {
    waitpid(child, nullptr, 0);
    sampan_section_stop("section");
    sampan_span_end();
    return;
  }
  sampan_span_end();  // the parent's
  sampan_section_stop("section");
  sampan_counter_add("counter", 1);
  sampan_span_begin("in the child");
  printf("%llu\n", static_cast<unsigned long long>(sampan_span_current()));
  fflush(stdout);
  sampan_span_end();
  sampan_span_end();  // of no span
  _exit(0);
}

void in_fork(bool raw) {
  sampan_span_begin("around the fork");
  sampan_section_start("section");
  sampan_counter_add("counter", 7);
  after_fork(raw ? static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) : fork());
}

// The child runs in its parent's memory, as its parent's thread.
void in_vfork() {
  sampan_span_begin("around the vfork");
  // NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork, clang-analyzer-unix.Vfork)
  if (const pid_t child = vfork(); child == 0) {
    sampan_span_begin("in the child");
    sampan_span_end();
    _exit(0);
  } else {
    waitpid(child, nullptr, 0);
  }
  // NOLINTEND(clang-analyzer-security.insecureAPI.vfork, clang-analyzer-unix.Vfork)
  sampan_span_end();
}

void thread_ends() {
  std::thread([] {
    sampan_span_begin("left open");
    sampan_span_begin("inside");
    sampan_thread_section_start("left open");
  }).join();
  std::thread([] {  // in the same slot
    sampan_span_begin("next");
    sampan_span_end();
    sampan_span_end();
  })
      .join();
  sampan_span_begin("open at the end");
}

std::atomic<unsigned> handled;
void on_alarm(int) {
  sampan_span_begin("in the handler");
  sampan_counter_add("signals", 1);
  sampan_span_end();
  ++handled;
}

void handlers() {
  signal(SIGALRM, on_alarm);
  const itimerval often{{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &often, nullptr);
  unsigned spans = 0;
  for (; handled < 1000; ++spans) {
    sampan_span_begin("interrupted");
    sampan_span_begin("inside");
    sampan_span_end();
    sampan_span_end();
    if (spans % 64 == 0) sched_yield();
  }
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  printf("%u %u\n", spans, handled.load());
}

sigjmp_buf out;
void jump(int) {
  siglongjmp(out, 1);
}

// Jumps out of whatever was interrupted, also out of a marker that is half written.
void jumps() {
  signal(SIGALRM, jump);
  static int i;  // a register would be restored by the jump
  for (i = 0; i < 300; ++i) {
    if (sigsetjmp(out, 1) == 0) {
      const itimerval once{{0, 0}, {0, 300}};
      setitimer(ITIMER_REAL, &once, nullptr);
      for (;;) {
        sampan_event("tick");
        sampan_span_begin("abandoned");
        sampan_span_end();
      }
    }
    while (sampan_span_current() != 0) sampan_span_end();
  }
  usleep(500'000);  // until the reader has skipped the holes
  sampan_event("still there");
}

std::atomic<bool> raw_thread_ended;

int raw_thread(void*) {
  // Its thread-local storage is the main thread's, whose span is the innermost one until sampan has
  // found this thread.
  for (int tries = 0; sampan_span_current() != 0 && tries < 30'000; ++tries) usleep(1'000);
  sampan_span_begin("of the raw thread");
  printf("%ld\n", syscall(SYS_gettid));
  fflush(stdout);
  sampan_span_end();
  raw_thread_ended = true;
  syscall(SYS_exit, 0);
  return 0;
}

void raw_clone() {
  static char stack[1 << 16];
  sampan_span_begin("of the main thread");
  clone(raw_thread, stack + sizeof stack,
        CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, nullptr);
  while (!raw_thread_ended) usleep(1'000);
  sampan_span_end();
}

// A seccomp filter that kills at each system call except the last one.
void filter_system_calls() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  sock_fprog program{sizeof code / sizeof code[0], code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

void seccomp(bool strict) {
  sampan_span_begin("before");
  strict ? static_cast<void>(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) : filter_system_calls();
  sampan_span_begin("a name that is new");
  sampan_counter_add("counter", 1);
  sampan_section_start("section");
  sampan_section_stop("section");
  sampan_span_end();
  sampan_span_end();
  syscall(strict ? SYS_exit : SYS_exit_group, 0);
}

// A library with markers: opened, closed, and opened again.
void library(const char* path) {
  for (int i = 0; i < 2; ++i) {
    void* opened = dlopen(path, RTLD_NOW);
    if (opened == nullptr) {
      puts(dlerror());
      return;
    }
    reinterpret_cast<void (*)()>(dlsym(opened, "say_something"))();
    dlclose(opened);
  }
}

void exported_table() {
  using Find = const sampan_marker_functions*(uint32_t);
  auto* find = reinterpret_cast<Find*>(dlsym(RTLD_DEFAULT, "sampan_find_markers"));
  if (find == nullptr) return;
  printf("%d %d %d %d\n", find(1) != nullptr, find(2) != nullptr, find(3) != nullptr,
         find(4) != nullptr);
  if (find(1) != nullptr) find(1)->event("by the table", "", 0);
}

void many_spans() {
  const auto work = [] {
    for (int i = 0; i < 1'000'000; ++i) {
      sampan_span_begin("fast");
      sampan_span_end();
    }
  };
  std::thread other(work);
  work();
  other.join();
}

}  // namespace

int main(int, char** words) {
  const std::string word = words[1];
  if (word == "everything") everything();
  if (word == "unmatched") unmatched();
  if (word == "odd_names") odd_names();
  if (word == "texts_of_cpp") texts_of_cpp();
  if (word == "distinct_names") distinct_names();
  if (word == "no_numbers") no_numbers();
  if (word == "deep") deep();
  if (word == "fork") in_fork(false);
  if (word == "raw_fork") in_fork(true);
  if (word == "vfork") in_vfork();
  if (word == "thread_ends") thread_ends();
  if (word == "handlers") handlers();
  if (word == "jumps") jumps();
  if (word == "raw_clone") raw_clone();
  if (word == "filter") seccomp(false);
  if (word == "strict") seccomp(true);
  if (word == "library") library(words[2]);
  if (word == "exported_table") exported_table();
  if (word == "many_spans") many_spans();
  if (word == "profiled") printf("%d\n", sampan_profiled());
  return 0;
}
