#include "cli/labelled_recording.h"

#include <filesystem>
#include <set>

#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "recording/segment_files.h"

namespace sampan::cli {
namespace {

namespace fs = std::filesystem;

// "recording.sampan" is what each of them is called.
std::string usual_label(const fs::path& file) {
  if (file.filename() != "recording.sampan" && file.filename() != recording::kSegmentsDirectory) {
    return file.stem();
  }
  const fs::path directory = fs::absolute(file).lexically_normal().parent_path();
  return directory.filename();
}

LabelledPath labelled(const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || fs::exists(word)) {
    const std::string path = recording_path(word);
    return {usual_label(path), path};
  }
  return {word.substr(0, equals), recording_path(word.substr(equals + 1))};
}

}  // namespace

std::vector<LabelledPath> labelled_paths(const std::vector<std::string>& words) {
  std::vector<LabelledPath> paths;
  std::set<std::string> labels;
  for (const std::string& word : words) {
    LabelledPath& path = paths.emplace_back(labelled(word));
    const std::string label = path.label;
    for (int i = 2; !labels.insert(path.label).second; ++i) {
      path.label = label + "-" + std::to_string(i);
    }
  }
  return paths;
}

recording::MergeInput read_labelled(const LabelledPath& from) {
  return {from.label, read_recording(from.path)};
}

}  // namespace sampan::cli
