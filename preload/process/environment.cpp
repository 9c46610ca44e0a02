#include "preload/process/environment.h"

#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sanitizer_runtime.h"
#include "base/syscall.h"
#include "wire/session.h"

namespace sampan::preload {
namespace {

constexpr const char* kPreload = "LD_PRELOAD=";
constexpr const char* kPrefix = "SAMPAN";
constexpr size_t kMaxVariables = 24;

char path[PATH_MAX];
char session[wire::kSessionNameSize + 1];
char session_variable[64];
// All variables whose names begin with SAMPAN: the session's and the user's.
char variable_text[4096];
const char* variables[kMaxVariables];
size_t variable_count;

size_t name_length(const char* variable) {
  return static_cast<size_t>(strchrnul(variable, '=') - variable);
}

bool same_name(const char* a, const char* b) {
  const size_t length = name_length(a);
  return length == name_length(b) && strncmp(a, b, length) == 0;
}

bool is_ours(const char* variable) {
  const size_t length = strlen(kPrefix);
  return strncmp(variable, kPrefix, length) == 0 &&
         (variable[length] == '=' || variable[length] == '_');
}

void keep(const char* variable) {
  static size_t used;
  const size_t size = strlen(variable) + 1;
  if (variable_count == kMaxVariables || size > sizeof variable_text - used) return;
  char* copy = variable_text + used;
  memcpy(copy, variable, size);
  used += size;
  variables[variable_count++] = copy;
}

bool is(const char* value, const char* text) {
  return value != nullptr && strcmp(value, text) == 0;
}

// Copies an LD_PRELOAD list, separated by colons or spaces, without the shim's entry.
void copy_without_shim(const char* list, char* to) {
  const size_t own = strlen(path);
  while (*list != '\0') {
    const size_t length = strcspn(list, ": ");
    const size_t whole = length + (list[length] != '\0');
    if (length != own || strncmp(list, path, length) != 0) {
      memcpy(to, list, whole);
      to += whole;
    }
    list += whole;
  }
  *to = '\0';
}

// Writes "LD_PRELOAD=", the list that `given` has, and (when `profiled`) the shim, where it belongs in that.
void write_preload(const char* given, bool profiled, const char* runtime, std::span<char> text) {
  char* const list = stpcpy(text.data(), kPreload);
  *list = '\0';
  if (given != nullptr) copy_without_shim(given, list);
  if (!profiled) return;
  const size_t before = before_shim(list);
  const bool adds_runtime = before == 0 && *runtime != '\0';
  const size_t runtime_size = adds_runtime ? strlen(runtime) + strlen(kBeforeShim) : 0;
  // A runtime at the end of the list has no separator behind it.
  const bool separates = before != 0 && list[before - 1] != ':' && list[before - 1] != ' ';
  char* const rest = list + before;
  const size_t size = strlen(path);
  memmove(rest + separates + runtime_size + size + 1, rest, strlen(rest) + 1);
  char* end = rest;
  if (separates) *end++ = ':';
  if (adds_runtime) end = stpcpy(stpcpy(end, runtime), kBeforeShim);
  memcpy(end, path, size);
  end[size] = end[size + 1] != '\0' ? ':' : '\0';
}

// Takes the runtime that was loaded for our sake out of our environment: what this process executes past us (system) is not
// to get it.
void remove_runtime() {
  char* const variable = const_cast<char*>(variable_of_process("LD_PRELOAD"));
  if (variable == nullptr) return;
  char* const mark = strstr(variable, kBeforeShim);
  if (mark == nullptr || strcspn(variable, ": ") != static_cast<size_t>(mark - variable)) return;
  const char* const shim = mark + strlen(kBeforeShim);
  if (strncmp(shim, path, strlen(path)) == 0) memmove(variable, shim, strlen(shim) + 1);
}

}  // namespace

const char* variable_of_process(const char* name) {
  return find_variable(environ, name);
}

const char* find_variable(char* const* environment, const char* name) {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (same_name(*environment, name) && strchr(*environment, '=') != nullptr) {
      return *environment + name_length(name) + 1;
    }
  }
  return nullptr;
}

void read_environment(const char* shim) {
  // Made absolute: children may begin in another directory.
  size_t used = 0;
  if (shim[0] != '/') {
    // The kernel counts the terminating zero.
    const long size = raw_syscall(SYS_getcwd, path, sizeof path - 1);
    if (size > 1) {
      used = static_cast<size_t>(size);
      path[used - 1] = '/';
    }
  }
  if (used + strlen(shim) < sizeof path) strcpy(path + used, shim);
  remove_runtime();
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (is_ours(*variable)) keep(*variable);
  }
  if (const char* name = variable_of_process(wire::kEnvironmentSession)) set_session_name(name);
}

bool enabled_by_environment() {
  return is(variable_of_process(wire::kEnvironmentEnable), "1");
}
bool fast_clock_always() {
  return is(variable_of_process("SAMPAN_FAST_CLOCK"), "always");
}
bool markers_allowed() {
  return !is(variable_of_process("SAMPAN_MARKERS"), "0");
}
const char* trace_key_file() {
  return variable_of_process("SAMPAN_TRACE_KEY_FILE");
}
const char* session_name() {
  return session[0] != '\0' ? session : nullptr;
}
const char* shim_path() {
  return path;
}

void hide_from_guest() {
  char** kept = environ;
  for (char** variable = environ; kept != nullptr && *variable != nullptr; ++variable) {
    bool is_hidden = false;
    for (const char* own :
         {wire::kEnvironmentEnable, wire::kEnvironmentSession, wire::kEnvironmentFollow}) {
      is_hidden |= same_name(*variable, own);
    }
    if (same_name(*variable, kPreload)) {
      char* const list = *variable + strlen(kPreload);
      copy_without_shim(list, list);
      is_hidden = *list == '\0';
    }
    if (!is_hidden) *kept++ = *variable;
  }
  if (kept != nullptr) *kept = nullptr;
}

void set_session_name(const char* name) {
  if (strlen(name) >= sizeof session) return;
  strcpy(session, name);
  strcpy(stpcpy(stpcpy(session_variable, wire::kEnvironmentSession), "="), name);
}

// By an array of our own: setenv would allocate, and the program's malloc may not work yet.
void show_session() {
  size_t count = 0;
  while (environ != nullptr && environ[count] != nullptr) ++count;
  const long memory = raw_syscall(SYS_mmap, nullptr, (count + 2) * sizeof(char*),
                                  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory < 0 && memory > -4096) return;
  auto** const own = reinterpret_cast<char**>(memory);
  if (count != 0) memcpy(own, environ, count * sizeof(char*));
  own[count] = session_variable;
  environ = own;
}

EnvironmentSize size_of_environment(char* const* given) {
  size_t count = 0;
  for (; given != nullptr && given[count] != nullptr; ++count) {
  }
  const char* preload = find_variable(given, kPreload);
  // The variables, LD_PRELOAD, SAMPAN_SESSION, and the end.
  return {count + variable_count + 3, strlen(kPreload) + sizeof(RuntimeName) + strlen(kBeforeShim) +
                                          strlen(path) + 4 +
                                          (preload != nullptr ? strlen(preload) : 0)};
}

char* const* make_environment(char* const* given, bool profiled, const char* runtime,
                              std::span<char*> pointers, std::span<char> text) {
  size_t count = 0;
  const auto add = [&](const char* variable) { pointers[count++] = const_cast<char*>(variable); };
  for (char* const* variable = given; variable != nullptr && *variable != nullptr; ++variable) {
    const bool dropped = same_name(*variable, kPreload) ||
                         (profiled ? same_name(*variable, session_variable) : is_ours(*variable));
    if (!dropped) add(*variable);
  }
  const char* preload = find_variable(given, kPreload);
  write_preload(preload, profiled, runtime, text);
  if (profiled || (preload != nullptr && text[strlen(kPreload)] != '\0')) add(text.data());
  if (profiled) {
    for (const char* variable : std::span(variables, variable_count)) {
      if (find_variable(given, variable) == nullptr && !same_name(variable, session_variable))
        add(variable);
    }
    add(session_variable);
  }
  pointers[count] = nullptr;
  return pointers.data();
}

}  // namespace sampan::preload
