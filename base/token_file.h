// The secret of a recording that `sampan ctl` must know too: the content of the file that
// SAMPAN_TOKEN_FILE names.
#pragma once

#include <string>
#include <string_view>

namespace sampan::sampler {

// "" when no file is named. Throws Error as read_token().
std::string read_control_token();

// What the file has, without white space at its ends. Throws Error when it cannot be read, is
// empty, too long, or may be read by others. `named_by`: the option or variable that names it.
std::string read_token(const std::string& path, std::string_view named_by);

// In a time that does not tell how much of it is right.
bool same_token(std::string_view token, std::string_view given);

}  // namespace sampan::sampler
