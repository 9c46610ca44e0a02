// sampan query: questions in SQL, for which there is no report.
#include "reports/query/query.h"

#include <fmt/core.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/latest_recording.h"
#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "cli/table_options.h"
#include "reports/query/rows.h"
#include "reports/query/tables.h"

namespace sampan::cli {
namespace {

struct QueryOptions {
  RecordingOptions recording;
  TableOptions table;
  std::vector<std::string> words;  // RECORDING, if there are two, and SQL
  bool schema = false;
  bool csv = false;
  bool json = false;
};

void answer(const profile::Profile& profile, const QueryOptions& options) {
  const std::string& sql = options.words.back();
  const auto print = [](std::string_view text) { fmt::print("{}", text); };
  if (options.csv) return reports::query(profile, sql, *reports::csv_rows(print));
  if (options.json) return reports::query(profile, sql, *reports::json_rows(print));
  std::string page;
  const auto keep = [&page](std::string_view text) { page += text; };
  reports::query(profile, sql, *reports::table_rows(page_options(options.table), keep));
  print_paged(page, options.table);
}

int query(QueryOptions options) {
  if (options.csv && options.json) throw UsageError("query: either --csv or --json");
  if (options.schema) {
    print_paged(reports::query_schema(), options.table);
    return 0;
  }
  if (options.words.empty()) {
    throw UsageError("query: an SQL statement is wanted; --schema shows the tables");
  }
  options.recording.recording =
      named_recording(options.words.size() == 2 ? options.words[0] : "-1");
  profile::Profile profile = load_profile(options.recording);
  print_without_symbols(find_names(profile, options.recording.sysroot));
  answer(profile, options);
  return 0;
}

}  // namespace

void add_query(CLI::App& app, Commands& commands) {
  CLI::App* const command =
      app.add_subcommand("query", "Ask a recording in SQL what no report says");
  const auto options = std::make_shared<QueryOptions>();
  command
      ->add_option(
          "SQL", options->words,
          "A SELECT of SQLite, see docs/query.md; RECORDING before it is a "
          "recording.sampan, or its directory (default: -1, the latest; -2: the one before)")
      ->expected(0, 2);
  command->add_flag("--schema", options->schema, "Show the tables and their columns");
  add_python_option(*command, options->recording.python);
  add_sysroot_option(*command, options->recording.sysroot);
  add_table_options(*command, options->table);
  command->add_flag("--csv", options->csv, "Print comma-separated values");
  command->add_flag("--json", options->json, "Print JSON: an array with an object for each row");
  set_examples(*command,
               {"sampan query 'SELECT tid, name, cpu_ns/1e9 FROM threads ORDER BY cpu_ns DESC'",
                "sampan query -2 'SELECT state, sum(weight_ns)/1e9 FROM samples GROUP BY state'",
                "sampan query --schema"},
               "sampan query [OPTIONS] [RECORDING] SQL");
  commands.actions[command] = [options] { return query(*options); };
}

}  // namespace sampan::cli
