#include "reports/query/query.h"

#include <sqlite3.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>

#include "base/error.h"
#include "base/late_library.h"
#include "reports/query/tables.h"

namespace sampan::reports {
namespace {

struct Sqlite {
  LateLibrary library{"libsqlite3.so.0", "libsqlite3-0", "sqlite-libs"};
  decltype(sqlite3_open_v2)* open = library["sqlite3_open_v2"];
  decltype(sqlite3_close_v2)* close = library["sqlite3_close_v2"];
  decltype(sqlite3_errmsg)* message = library["sqlite3_errmsg"];
  decltype(sqlite3_exec)* execute = library["sqlite3_exec"];
  decltype(sqlite3_set_authorizer)* set_authorizer = library["sqlite3_set_authorizer"];
  decltype(sqlite3_create_module)* create_module = library["sqlite3_create_module"];
  decltype(sqlite3_declare_vtab)* declare_table = library["sqlite3_declare_vtab"];
  decltype(sqlite3_prepare_v2)* prepare = library["sqlite3_prepare_v2"];
  decltype(sqlite3_step)* step = library["sqlite3_step"];
  decltype(sqlite3_finalize)* finalize = library["sqlite3_finalize"];
  decltype(sqlite3_column_count)* column_count = library["sqlite3_column_count"];
  decltype(sqlite3_column_name)* column_name = library["sqlite3_column_name"];
  decltype(sqlite3_column_type)* column_type = library["sqlite3_column_type"];
  decltype(sqlite3_column_int64)* column_int64 = library["sqlite3_column_int64"];
  decltype(sqlite3_column_double)* column_double = library["sqlite3_column_double"];
  decltype(sqlite3_column_blob)* column_blob = library["sqlite3_column_blob"];
  decltype(sqlite3_column_bytes)* column_bytes = library["sqlite3_column_bytes"];
  decltype(sqlite3_value_int64)* value_int64 = library["sqlite3_value_int64"];
  decltype(sqlite3_result_null)* result_null = library["sqlite3_result_null"];
  decltype(sqlite3_result_int64)* result_int64 = library["sqlite3_result_int64"];
  decltype(sqlite3_result_double)* result_double = library["sqlite3_result_double"];
  decltype(sqlite3_result_text64)* result_text = library["sqlite3_result_text64"];
};

// Throws Error if it cannot be loaded.
const Sqlite& sqlite() {
  static const Sqlite library;
  return library;
}

// The virtual tables (https://www.sqlite.org/vtab.html). The functions are SQLite's callbacks. A table
// exists without being created, because its module has no xCreate.
struct VirtualTable : sqlite3_vtab {
  const QueryTable* table;
};

struct VirtualCursor : sqlite3_vtab_cursor {
  std::unique_ptr<Cursor> rows;
};

const QueryTable& table_of(sqlite3_vtab* table) {
  return *static_cast<VirtualTable*>(table)->table;
}

VirtualCursor& cursor_of(sqlite3_vtab_cursor* cursor) {
  return *static_cast<VirtualCursor*>(cursor);
}

int connect(sqlite3* database, void* table, int, const char* const*, sqlite3_vtab** result,
            char**) {
  const auto* const of = static_cast<const QueryTable*>(table);
  std::string declaration = "CREATE TABLE x(";
  for (const QueryColumn& column : of->columns()) {
    if (&column != &of->columns().front()) declaration += ", ";
    declaration += std::string(column.name) + " " + column.type;
  }
  *result = new VirtualTable{{}, of};
  return sqlite().declare_table(database, (declaration + ")").c_str());
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<VirtualTable*>(table);
  return SQLITE_OK;
}

// With idxNum 1, filter() gets the value that the first column is to have. SQLite checks it again.
int best_index(sqlite3_vtab*, sqlite3_index_info* index) {
  constexpr double kAll = 1e6, kFew = 10;
  index->estimatedCost = kAll;
  index->estimatedRows = static_cast<sqlite3_int64>(kAll);
  for (int i = 0; i < index->nConstraint; ++i) {
    const auto& constraint = index->aConstraint[i];
    if (constraint.usable == 0 || constraint.iColumn != 0 ||
        constraint.op != SQLITE_INDEX_CONSTRAINT_EQ) {
      continue;
    }
    index->aConstraintUsage[i].argvIndex = 1;
    index->idxNum = 1;
    index->estimatedCost = kFew;
    index->estimatedRows = static_cast<sqlite3_int64>(kFew);
    break;
  }
  return SQLITE_OK;
}

int open_cursor(sqlite3_vtab*, sqlite3_vtab_cursor** result) {
  *result = new VirtualCursor();
  return SQLITE_OK;
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
  delete &cursor_of(cursor);
  return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* cursor, int has_key, const char*, int, sqlite3_value** values) {
  const std::optional<int64_t> key =
      has_key != 0 ? std::optional<int64_t>(sqlite().value_int64(values[0])) : std::nullopt;
  cursor_of(cursor).rows = table_of(cursor->pVtab).rows(key);
  return SQLITE_OK;
}

int next(sqlite3_vtab_cursor* cursor) {
  cursor_of(cursor).rows->next();
  return SQLITE_OK;
}

int is_at_end(sqlite3_vtab_cursor* cursor) {
  return cursor_of(cursor).rows->done() ? 1 : 0;
}

// By it, SQLite takes a row once that two parts of an OR have found.
int row_identity(sqlite3_vtab_cursor* cursor, sqlite3_int64* identity) {
  *identity = cursor_of(cursor).rows->identity();
  return SQLITE_OK;
}

int column(sqlite3_vtab_cursor* cursor, sqlite3_context* result, int at) {
  const auto set_text = [result](std::string_view text, sqlite3_destructor_type lifetime) {
    sqlite().result_text(result, text.data(), text.size(), lifetime, SQLITE_UTF8);
  };
  const Value value = cursor_of(cursor).rows->value(static_cast<size_t>(at));
  if (const auto* const whole = std::get_if<int64_t>(&value)) {
    sqlite().result_int64(result, *whole);
  } else if (const auto* const real = std::get_if<double>(&value)) {
    sqlite().result_double(result, *real);
  } else if (const auto* const lasting = std::get_if<std::string_view>(&value)) {
    set_text(*lasting, SQLITE_STATIC);
  } else if (const auto* const text = std::get_if<std::string>(&value)) {
    set_text(*text, SQLITE_TRANSIENT);
  } else {
    sqlite().result_null(result);
  }
  return SQLITE_OK;
}

constexpr sqlite3_module kVirtualTable = [] {
  sqlite3_module module{};
  module.xConnect = connect;
  module.xBestIndex = best_index;
  module.xDisconnect = disconnect;
  module.xDestroy = disconnect;
  module.xOpen = open_cursor;
  module.xClose = close_cursor;
  module.xFilter = filter;
  module.xNext = next;
  module.xEof = is_at_end;
  module.xColumn = column;
  module.xRowid = row_identity;
  return module;
}();

int may_only_read(void*, int action, const char*, const char* function, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION:
      return std::strcmp(function, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    default: return SQLITE_DENY;
  }
}

struct Close {
  void operator()(sqlite3* database) const { sqlite().close(database); }
  void operator()(sqlite3_stmt* statement) const { sqlite().finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Close>;
using Statement = std::unique_ptr<sqlite3_stmt, Close>;

[[noreturn]] void fail(const Database& database) {
  const std::string message = sqlite().message(database.get());
  // The code is not always SQLITE_AUTH.
  if (message.starts_with("not authorized") || message.starts_with("authorization denied")) {
    throw Error("query: only SELECT is permitted: a recording is only read");
  }
  throw Error("query: {}", message);
}

Database open(const std::vector<std::unique_ptr<QueryTable>>& tables) {
  sqlite3* opened = nullptr;
  const int error = sqlite().open(":memory:", &opened, SQLITE_OPEN_READWRITE, nullptr);
  Database database(opened);
  if (error != SQLITE_OK) fail(database);
  const auto execute = [&](const std::string& sql) {
    if (sqlite().execute(opened, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      fail(database);
  };
  execute("PRAGMA temp_store = MEMORY");
  for (const auto& table : tables) {
    if (sqlite().create_module(opened, table->name(), &kVirtualTable, table.get()) != SQLITE_OK) {
      fail(database);
    }
    // Its first use declares it, which counts as a change of the schema: see may_only_read().
    execute(std::string("SELECT 1 FROM ") + table->name() + " LIMIT 0");
  }
  sqlite().set_authorizer(opened, may_only_read, nullptr);
  return database;
}

Statement prepare(const Database& database, const std::string& sql) {
  sqlite3_stmt* prepared = nullptr;
  const char* rest = nullptr;
  const int error = sqlite().prepare(database.get(), sql.c_str(), -1, &prepared, &rest);
  Statement statement(prepared);
  if (error != SQLITE_OK) fail(database);
  constexpr std::string_view kBlanks = " \t\r\n;";
  if (statement == nullptr ||
      std::string_view(rest).find_first_not_of(kBlanks) != std::string::npos) {
    throw Error("query: one statement is wanted, such as SELECT count(*) FROM samples");
  }
  return statement;
}

Value value_at(const Statement& statement, int column) {
  switch (sqlite().column_type(statement.get(), column)) {
    case SQLITE_INTEGER: return int64_t{sqlite().column_int64(statement.get(), column)};
    case SQLITE_FLOAT: return sqlite().column_double(statement.get(), column);
    case SQLITE_NULL: return {};
    default: break;
  }
  const void* const bytes = sqlite().column_blob(statement.get(), column);
  const auto size = static_cast<size_t>(sqlite().column_bytes(statement.get(), column));
  return size == 0 ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

}  // namespace

void query(const profile::Profile& profile, const std::string& sql, Rows& rows) {
  const std::vector<std::unique_ptr<QueryTable>> tables = query_tables(profile);
  const Database database = open(tables);
  const Statement statement = prepare(database, sql);
  std::vector<std::string> names;
  for (int i = 0; i < sqlite().column_count(statement.get()); ++i) {
    names.emplace_back(sqlite().column_name(statement.get(), i));
  }
  rows.begin(names);
  int status = SQLITE_ROW;
  std::vector<Value> values(names.size());
  while ((status = sqlite().step(statement.get())) == SQLITE_ROW) {
    for (size_t i = 0; i < names.size(); ++i) {
      values[i] = value_at(statement, static_cast<int>(i));
    }
    rows.add(values);
  }
  if (status != SQLITE_DONE) fail(database);
  rows.end();
}

}  // namespace sampan::reports
