// The rows of an answer, as a table for people, as comma-separated values, or as JSON.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reports/query/tables.h"
#include "reports/report.h"

namespace sampan::reports {

class Rows {
 public:
  virtual ~Rows() = default;
  virtual void begin(const std::vector<std::string>& columns) = 0;
  // As many values as columns.
  virtual void add(const std::vector<Value>& values) = 0;
  virtual void end() {}
};

using Write = std::function<void(std::string_view)>;

// Written when all rows are there: the columns are as wide as they need.
std::unique_ptr<Rows> table_rows(const PageOptions& options, Write write);
// Written row by row: RFC 4180, the names of the columns first.
std::unique_ptr<Rows> csv_rows(Write write);
// An array of objects, with the names of the columns.
std::unique_ptr<Rows> json_rows(Write write);

}  // namespace sampan::reports
