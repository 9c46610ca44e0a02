#include "cli/latest_recording.h"

#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <system_error>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "base/text/readable.h"
#include "cli/recording_options.h"

namespace sampan::cli {
namespace {

namespace fs = std::filesystem;

struct Recorded {
  std::string began;       // as the directory's name says: in the order of time
  fs::file_time_type end;  // the last change; decides between runs of the same second
  std::string directory;
};

// "-2" is 2; 0: another word.
size_t place_of(const std::string& word) {
  size_t place = 0;
  const char* const end = word.data() + word.size();
  if (!word.starts_with("-")) return 0;
  const auto [rest, error] = std::from_chars(word.data() + 1, end, place);
  return error == std::errc() && rest == end ? place : 0;
}

// "" if the directory has another name than `run` gives it.
std::string begin_of(const std::string& name) {
  tm parts{};
  const char* const rest = strptime(name.c_str(), kDirectoryTime, &parts);
  return rest == nullptr ? "" : name.substr(0, static_cast<size_t>(rest - name.c_str()));
}

std::string usual_output() {
  const char* const variable = std::getenv("SAMPAN_OUTPUT");
  return variable != nullptr && *variable != '\0' ? variable : kUsualOutput;
}

// The latest first.
std::vector<Recorded> recordings_below(const std::string& output) {
  std::vector<Recorded> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(output, none)) {
    std::error_code absent;
    const std::string began = begin_of(entry.path().filename());
    const fs::file_time_type end = fs::last_write_time(recording_path(entry.path()), absent);
    if (!began.empty() && !absent) found.push_back({began, end, entry.path()});
  }
  std::ranges::sort(found, std::greater<>(), [](const Recorded& recorded) {
    return std::tie(recorded.began, recorded.end);
  });
  return found;
}

// Where `run` leaves recordings, which is none itself.
bool has_recordings(const std::string& directory) {
  return fs::is_directory(directory) && !fs::exists(recording_path(directory)) &&
         !recordings_below(directory).empty();
}

}  // namespace

std::string find_recording(const std::string& word) {
  const size_t number = place_of(word);
  if (number == 0 && !has_recordings(word)) return word;
  const size_t place = number == 0 ? 1 : number;
  const std::string output = number == 0 ? word : usual_output();
  const std::vector<Recorded> found = recordings_below(output);
  if (found.empty()) {
    throw Error("there is no recording below {}: name one, or make one by sampan run", output);
  }
  if (place > found.size()) {
    throw Error("{}: there {} only {} below {}", word, found.size() == 1 ? "is" : "are",
                plural(found.size(), "recording"), output);
  }
  return found[place - 1].directory;
}

std::string named_recording(const std::string& word) {
  std::string directory = find_recording(word);
  if (directory != word) {
    say("sampan: {} is {}\n", place_of(word) > 1 ? word : "the latest recording", directory);
  }
  return directory;
}

std::vector<std::string> latest_recordings(const std::string& output) {
  std::vector<std::string> directories;
  for (const Recorded& recorded : recordings_below(output.empty() ? usual_output() : output)) {
    directories.push_back(recorded.directory);
  }
  return directories;
}

}  // namespace sampan::cli
