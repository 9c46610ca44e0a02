// The options of commands that print tables: how wide they are, and whether a pager shows them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "reports/report.h"

namespace sampan::cli {

struct TableOptions {
  unsigned width = 0;  // columns; 0: as wide as the terminal
  bool pager = true;   // if stdout is a terminal
  bool full_names = false;
};

// --width, --no-pager.
void add_table_options(CLI::App& command, TableOptions& options);
// --full-names, for commands that show functions in tables.
void add_full_names_option(CLI::App& command, TableOptions& options);

// For stdout.
reports::PageOptions page_options(const TableOptions& options);

// Prints through the pager as git does, if the options permit one and stdout is a terminal.
void print_paged(const std::string& text, const TableOptions& options);

}  // namespace sampan::cli
