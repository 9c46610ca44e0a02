#include "preload/environment.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "wire/session.h"

namespace sampan::preload {
namespace {

// Copies: the program may change its environment.
char session[wire::kSessionNameSize + 1];
char path[PATH_MAX];
bool enabled;
bool perf = true;

bool is(const char* value, const char* text) {
  return value != nullptr && strcmp(value, text) == 0;
}

void copy(char* to, size_t size, const char* from) {
  const size_t length = strnlen(from, size);
  if (length < size) memcpy(to, from, length + 1);
}

}  // namespace

void read_environment(const char* shim_path) {
  enabled = is(getenv(wire::kEnvironmentEnable), "1");
  perf = !is(getenv("SAMPAN_PERF"), "0");
  if (const char* name = getenv(wire::kEnvironmentSession)) set_session_name(name);
  copy(path, sizeof path, shim_path);
}

bool enabled_by_environment() {
  return enabled;
}
bool perf_allowed() {
  return perf;
}
const char* session_name() {
  return session[0] != '\0' ? session : nullptr;
}
void set_session_name(const char* name) {
  copy(session, sizeof session, name);
}
const char* shim_path() {
  return path;
}

}  // namespace sampan::preload
