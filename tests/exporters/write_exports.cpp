// write_exports PROFILE.txt DIRECTORY [merged]: all formats, merged and (without that word) per
// thread, of a profile in the text of support/text_profile.h. Lines that begin with "! " are its
// markers, in the text of support/text_markers.h. For the tests that open them with their viewers.
#include <fmt/core.h>

#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "exporters/exporter.h"
#include "support/text_markers.h"
#include "support/text_profile.h"

int main(int argc, char** argv) try {
  if (argc != 3 && argc != 4) return 2;
  std::ifstream file(argv[1]);
  std::string text, markers;
  for (std::string line; std::getline(file, line);) {
    const bool is_marker = line.starts_with("! ");
    (is_marker ? markers : text) += (is_marker ? line.substr(2) : line) + "\n";
  }
  sampan::profile::Profile profile = sampan::test::profile_of(text);
  sampan::test::add_markers(&profile, markers);
  std::vector<const sampan::exporters::Format*> formats;
  for (const auto& format : sampan::exporters::formats()) formats.push_back(&format);
  sampan::exporters::write_all(select(profile), formats, argv[2], {.per_thread = argc == 3});
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
