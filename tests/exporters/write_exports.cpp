// write_exports PROFILE.txt DIRECTORY [merged]: all formats, merged and (without that word) per
// thread, of a profile in the text of support/text_profile.h. For the tests that open them with
// their viewers.
#include <fmt/core.h>

#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "exporters/exporter.h"
#include "support/text_profile.h"

int main(int argc, char** argv) try {
  if (argc != 3 && argc != 4) return 2;
  std::ifstream file(argv[1]);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const sampan::profile::Profile profile = sampan::test::profile_of(text);
  std::vector<const sampan::exporters::Format*> formats;
  for (const auto& format : sampan::exporters::formats()) formats.push_back(&format);
  sampan::exporters::write_all(select(profile), formats, argv[2], {.per_thread = argc == 3});
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
