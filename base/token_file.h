// Secrets that are the content of a file. Hosted only.
#pragma once

#include <string>
#include <string_view>

namespace sampan {

// The secret that `sampan ctl` shares with a recorder, from the file that SAMPAN_TOKEN_FILE names; ""
// when it names none. Throws Error as read_token() does.
std::string read_control_token();

// The file's content, without white space at its ends. Throws Error when it cannot be read, is
// empty or too long, or may be read by others. `named_by`: the option or variable that names it.
std::string read_token(const std::string& path, std::string_view named_by);

// Takes the same time however much of `given` is right.
bool same_token(std::string_view token, std::string_view given);

}  // namespace sampan
