// A vector as a table of SQL: a function for each column.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "reports/query/tables.h"

namespace sampan::reports {

// Values of a column.
inline Value number(uint64_t value) {
  return static_cast<int64_t>(value);
}
inline Value row(uint32_t handle) {
  return handle == profile::kNone ? Value() : Value(int64_t{handle});
}
inline Value text(std::string_view value) {
  return value.empty() ? Value() : Value(value);
}
template <typename T>
Value if_known(const std::optional<T>& value) {
  return value ? Value(static_cast<int64_t>(*value)) : Value();
}

template <typename Source, typename Row>
struct Field {
  QueryColumn column;
  Value (*of)(const Source&, const Row&);
};

// The first column is the number of the row. `source`: what else the columns are made of.
template <typename Source, typename Row>
class VectorTable : public QueryTable {
 public:
  using Fields = std::vector<Field<Source, Row>>;

  VectorTable(const char* name, const char* about, std::shared_ptr<const Source> source,
              const std::vector<Row>& rows, Fields fields)
      : QueryTable(name, about, columns_of(fields)),
        source_(std::move(source)),
        rows_(rows),
        fields_(std::move(fields)) {}

  std::unique_ptr<Cursor> rows(std::optional<int64_t> key) const override {
    if (!key) return std::make_unique<VectorCursor>(*this, 0, rows_.size());
    const bool exists = *key >= 0 && static_cast<uint64_t>(*key) < rows_.size();
    const size_t begin = exists ? static_cast<size_t>(*key) : 0;
    return std::make_unique<VectorCursor>(*this, begin, begin + (exists ? 1 : 0));
  }

 private:
  class VectorCursor : public Cursor {
   public:
    VectorCursor(const VectorTable& table, size_t begin, size_t end)
        : table_(table), at_(begin), end_(end) {}
    bool done() const override { return at_ == end_; }
    void next() override { ++at_; }
    int64_t identity() const override { return static_cast<int64_t>(at_); }
    Value value(size_t column) const override {
      if (column == 0) return static_cast<int64_t>(at_);
      return table_.fields_[column - 1].of(*table_.source_, table_.rows_[at_]);
    }

   private:
    const VectorTable& table_;
    size_t at_, end_;
  };

  static std::vector<QueryColumn> columns_of(const Fields& fields) {
    std::vector<QueryColumn> columns = {{"id", "INTEGER", "the number of the row"}};
    for (const Field<Source, Row>& field : fields) columns.push_back(field.column);
    return columns;
  }

  std::shared_ptr<const Source> source_;
  const std::vector<Row>& rows_;
  Fields fields_;
};

}  // namespace sampan::reports
