// The report's data: the object of `sampan report --json`, for programs. docs/report-json.md says
// what is in it.
#include "exporters/formats.h"
#include "exporters/output_file.h"
#include "reports/report.h"

namespace sampan::exporters {

Outcome write_json(const profile::View& view, const std::string& path, uint64_t) {
  OutputFile file(path);
  file.write(reports::json(view));
  file.commit();
  return {};
}

}  // namespace sampan::exporters
