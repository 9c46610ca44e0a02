#include "reports/query/rows.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/text/csv_row.h"
#include "base/text/json_writer.h"
#include "base/text/readable.h"
#include "reports/table.h"

namespace sampan::reports {
namespace {

// Numbers as people read them: sums of nanoseconds that were divided have more digits than they mean.
std::string cell_text(const Value& value) {
  return std::visit(
      [](const auto& of) -> std::string {
        using T = std::decay_t<decltype(of)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return "";
        } else if constexpr (std::is_same_v<T, double>) {
          return fmt::format("{:.10g}", of);
        } else if constexpr (std::is_same_v<T, int64_t>) {
          return fmt::format("{}", of);
        } else {
          return printable(of);
        }
      },
      value);
}

bool is_text(const Value& value) {
  return std::holds_alternative<std::string_view>(value) ||
         std::holds_alternative<std::string>(value);
}

std::string_view text_of(const Value& value) {
  const auto* const text = std::get_if<std::string>(&value);
  return text != nullptr ? std::string_view(*text) : std::get<std::string_view>(value);
}

class TableRows : public Rows {
 public:
  TableRows(const PageOptions& options, Write write)
      : width_(options.width), style_(options.colour), write_(std::move(write)) {}

  void begin(const std::vector<std::string>& columns) override {
    for (const std::string& name : columns) columns_.push_back({.title = printable(name)});
  }
  void add(const std::vector<Value>& values) override {
    std::vector<std::string> cells;
    for (size_t i = 0; i < values.size(); ++i) {
      cells.push_back(cell_text(values[i]));
      if (!is_text(values[i])) continue;
      constexpr size_t kLeastText = 12;
      columns_[i].left = true;
      columns_[i].minimum = kLeastText;
    }
    rows_.push_back(std::move(cells));
  }
  void end() override {
    if (rows_.empty()) return write_("no rows\n");
    Table table(std::move(columns_));
    for (std::vector<std::string>& cells : rows_) table.add(std::move(cells));
    write_(table.text(width_, style_));
  }

 private:
  unsigned width_;
  Style style_;
  Write write_;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

class CsvRows : public Rows {
 public:
  explicit CsvRows(Write write) : write_(std::move(write)) {}

  void begin(const std::vector<std::string>& columns) override {
    for (const std::string& name : columns) row_.text(name);
    write_(row_.end());
  }
  void add(const std::vector<Value>& values) override {
    for (const Value& value : values) {
      // A negative number is no formula, and a line break may stay: it is quoted.
      is_text(value) ? row_.text(text_of(value)) : row_.raw(exact(value));
    }
    write_(row_.end());
  }

 private:
  static std::string exact(const Value& value) {
    const double* const number = std::get_if<double>(&value);
    return number != nullptr ? fmt::format("{}", *number) : cell_text(value);
  }

  Write write_;
  CsvRow row_;
};

class JsonRows : public Rows {
 public:
  explicit JsonRows(Write write) : write_(std::move(write)) {}

  void begin(const std::vector<std::string>& columns) override {
    std::set<std::string> names;
    for (const std::string& name : columns) {
      if (!names.insert(name).second) {
        throw Error("query: two columns are called {}: JSON needs names of their own, by AS", name);
      }
    }
    columns_ = columns;
  }
  void add(const std::vector<Value>& values) override {
    Json json;
    json.object([&] {
      for (size_t i = 0; i < values.size(); ++i) {
        json.key(columns_[i]);
        write_value(json, values[i]);
      }
    });
    std::string object = json.text();
    object.pop_back();  // the line feed
    write_((is_first_ ? "[" : ",\n") + object);
    is_first_ = false;
  }
  void end() override { write_(is_first_ ? "[]\n" : "]\n"); }

 private:
  static void write_value(Json& json, const Value& value) {
    if (const auto* const whole = std::get_if<int64_t>(&value)) return json.value(*whole);
    const auto* const real = std::get_if<double>(&value);
    if (real != nullptr && std::isfinite(*real)) return json.value(*real);  // JSON has no others
    if (const auto* const text = std::get_if<std::string_view>(&value)) return json.value(*text);
    if (const auto* const text = std::get_if<std::string>(&value)) return json.value(*text);
    json.null();
  }

  Write write_;
  std::vector<std::string> columns_;
  bool is_first_ = true;
};

}  // namespace

std::unique_ptr<Rows> table_rows(const PageOptions& options, Write write) {
  return std::make_unique<TableRows>(options, std::move(write));
}

std::unique_ptr<Rows> csv_rows(Write write) {
  return std::make_unique<CsvRows>(std::move(write));
}

std::unique_ptr<Rows> json_rows(Write write) {
  return std::make_unique<JsonRows>(std::move(write));
}

}  // namespace sampan::reports
