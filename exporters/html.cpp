// profile.html: one page for browsers of 2023 or later, without any network. Its code is in
// exporters/page.
//
// The page's data are base64, so that nothing in them can end their element.
#include <string>
#include <vector>

#include "exporters/formats.h"
#include "exporters/output_file.h"
#include "exporters/page_data.h"

namespace sampan::exporters {
namespace {

void write_data(std::string_view id, std::string_view base64, OutputFile& file) {
  file.write("<script type=\"application/octet-stream\" id=\"");
  file.write(id);
  file.write("\">");
  file.write(base64);
  file.write("</script>\n");
}

}  // namespace

Outcome write_page(const profile::View& view, const std::string& path, uint64_t max_size,
                   const PageOptions& options) {
  const uint64_t page_size = kPageBeforeData.size() + kPageAfterData.size();
  const std::string sources = options.sources.empty() ? "" : page_text(options.sources);
  const uint64_t taken = page_size + sources.size();
  const uint64_t left = max_size > taken ? max_size - taken : max_size;
  // A page that follows its process fetches one type of samples.
  const std::vector<PageData> all =
      options.is_live ? std::vector{page_data(view, left)} : all_page_data(view, left);
  OutputFile file(path);
  file.write(kPageBeforeData);
  if (options.is_live) file.write("<script type=\"application/json\" id=\"live\">true</script>\n");
  Outcome outcome;
  for (const PageData& data : all) {
    const std::string suffix = &data == &all.front() ? "" : "-" + data.type;
    write_data("profile-header" + suffix, data.header, file);
    write_data("profile-columns" + suffix, data.columns, file);
    for (const std::string& note : data.notes) {
      outcome.notes.push_back(suffix.empty() ? note : data.type + ": " + note);
    }
  }
  if (!sources.empty()) write_data("profile-sources", sources, file);
  file.write(kPageAfterData);
  file.commit();
  return outcome;
}

Outcome write_html(const profile::View& view, const std::string& path, uint64_t max_size) {
  return write_page(view, path, max_size);
}

}  // namespace sampan::exporters
