// Any bytes as a baseline and as budgets. What is accepted is written and read again without a change.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "reports/gate/baseline.h"
#include "reports/gate/budgets.h"

using namespace sampan;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const std::string once = reports::baseline_text(reports::parse_baseline(text, "fuzz"));
    if (reports::baseline_text(reports::parse_baseline(once, "fuzz")) != once) abort();
  } catch (const Error&) {
  }
  try {
    reports::parse_budgets(text, "fuzz");
  } catch (const Error&) {
  }
  return 0;
}
