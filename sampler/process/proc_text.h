// The small files of /proc, which the kernel writes as they are read.
//
// std::nullopt where a file is gone, or may not be read: never an error.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sampan::attach {

// The file's beginning, up to the size of `buffer`: one open, one read, one close.
std::optional<std::string_view> read_start(const char* path, std::span<char> buffer);

// The whole file.
std::optional<std::string> read_whole(const std::string& path);

// What the link points to, without the " (deleted)" that the kernel puts behind a file that is
// gone.
std::optional<std::string> read_link(const std::string& path);

// The rest of the line that begins with `key` ("Uid:"), without blanks before it; "" for none.
std::string_view line_after(std::string_view text, std::string_view key);

// Takes the next word (up to a blank or newline) off `text`; "" at the end.
std::string_view take_word(std::string_view& text);

// Takes the next word as a number to `base`, 0x before it allowed; 0 when it is none.
uint64_t take_number(std::string_view& text, int base = 10);

// A path of /proc/PID/maps without the " (deleted)" behind it.
std::string_view without_deleted(std::string_view path);

}  // namespace sampan::attach
