// SQL over a profile, by SQLite: for questions that no report answers.
//
// The tables are virtual: SQLite asks for rows when it needs them, and stores none. A statement can only read them. It
// opens no file, not even a temporary one.
#pragma once

#include <string>
#include <vector>

#include "profile/profile.h"
#include "reports/query/rows.h"

namespace sampan::reports {

// Runs one statement, `sql`, and gives its rows to `rows` as they come. Throws Error with SQLite's
// message for a statement that is wrong or does more than read, and if libsqlite3 is missing.
void query(const profile::Profile& profile, const std::string& sql, Rows& rows);

}  // namespace sampan::reports
