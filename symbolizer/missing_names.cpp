#include "cli/debug_packages.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <sstream>
#include <string_view>

namespace sampan::cli {
namespace {

constexpr size_t kMaxOutput = size_t{16} << 20;  // all names of packages are 2 MB

// What a program prints; "" of one that is not installed. It may fail in part, as dpkg-query does
// where one of several files is of no package.
std::string output_of(std::vector<std::string> words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  char buffer[1 << 16];
  while (error == 0 && output.size() < kMaxOutput) {
    const ssize_t size = read(ends[0], buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    output.append(buffer, static_cast<size_t>(size));
  }
  close(ends[0]);
  while (error == 0 && waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return output;
}

// As the package has it: since /lib is a link to /usr/lib, that may be either.
std::string other_name(const std::string& path) {
  constexpr std::string_view kUsr = "/usr";
  return path.starts_with("/usr/") ? path.substr(kUsr.size()) : std::string(kUsr) + path;
}

// Of lines "libc6:amd64: /lib/x86_64-linux-gnu/libc.so.6" (dpkg-query(1), --search).
std::map<std::string, std::string> packages_of(const std::vector<std::string>& paths) {
  std::vector<std::string> words = {"dpkg-query", "--search"};
  for (const std::string& path : paths) {
    // Others would be patterns.
    if (!path.starts_with('/') || path.find_first_of("*?[\\") != path.npos) continue;
    words.push_back(path);
    words.push_back(other_name(path));
  }
  std::map<std::string, std::string> packages;
  std::istringstream lines(words.size() > 2 ? output_of(words) : "");
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(": ");
    if (colon == line.npos || line.starts_with("diversion ")) continue;
    packages[line.substr(colon + 2)] = line.substr(0, line.find_first_of(":,"));
  }
  return packages;
}

std::set<std::string> names_known_to_apt() {
  std::set<std::string> names;
  std::istringstream lines(output_of({"apt-cache", "pkgnames"}));
  for (std::string name; std::getline(lines, name);) {
    if (name.ends_with("-dbg")) names.insert(name);
  }
  return names;
}

}  // namespace

std::map<std::string, std::string> debug_packages(const std::vector<std::string>& paths) {
  const std::map<std::string, std::string> packages = packages_of(paths);
  if (packages.empty()) return {};
  const std::set<std::string> known = names_known_to_apt();
  std::map<std::string, std::string> result;
  for (const std::string& path : paths) {
    auto package = packages.find(path);
    if (package == packages.end()) package = packages.find(other_name(path));
    if (package == packages.end()) continue;
    // A few packages have one made by hand; for the others Debian makes one.
    const std::string own = package->second + "-dbg";
    result[path] = known.contains(own) ? own : package->second + "-dbgsym";
  }
  return result;
}

}  // namespace sampan::cli
