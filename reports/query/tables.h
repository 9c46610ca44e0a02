// A profile as tables of SQL. Their names, columns and units are stable: docs/query.md has them.
//
// Each row has a number: its place in its table, from 0. Columns with such a number have the name of the thing: the
// column `thread` is a row of `threads`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "profile/profile.h"

namespace sampan::reports {

// Nothing (SQL's NULL), a number, or a text. A string_view is valid as long as the profile.
using Value = std::variant<std::monostate, int64_t, double, std::string_view, std::string>;

struct QueryColumn {
  const char* name;
  const char* type;  // of SQL
  const char* about;
};

// Some rows of a table, one after the other.
class Cursor {
 public:
  virtual ~Cursor() = default;
  virtual bool done() const = 0;
  virtual void next() = 0;
  virtual Value value(size_t column) const = 0;
  // The same for the same row of the table, and for no other.
  virtual int64_t identity() const = 0;
};

class QueryTable {
 public:
  QueryTable(const char* name, const char* about, std::vector<QueryColumn> columns)
      : name_(name), about_(about), columns_(std::move(columns)) {}
  virtual ~QueryTable() = default;

  const char* name() const { return name_; }
  const char* about() const { return about_; }
  const std::vector<QueryColumn>& columns() const { return columns_; }

  // All rows, or those that have the number `key` in their first column.
  virtual std::unique_ptr<Cursor> rows(std::optional<int64_t> key) const = 0;

 private:
  const char* name_;
  const char* about_;
  std::vector<QueryColumn> columns_;
};

// The profile must outlive them.
std::vector<std::unique_ptr<QueryTable>> query_tables(const profile::Profile& profile);
// Some of them. `frames`: the stacks of the other tables, a row for each frame.
std::unique_ptr<QueryTable> frames_table(const profile::Profile& profile);
// The heap and locks.
std::vector<std::unique_ptr<QueryTable>> watched_tables(const profile::Profile& profile);

// The names of all tables and columns with what they mean, for people.
std::string query_schema();

}  // namespace sampan::reports
