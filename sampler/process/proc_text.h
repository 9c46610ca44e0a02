// The small files of /proc, which the kernel writes as they are read.
//
// std::nullopt when a file is gone or may not be read; never an error.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sampan::sampler {

// The file's beginning, up to the size of `buffer`: one open, one read, one close.
std::optional<std::string_view> read_start(const char* path, std::span<char> buffer);

// The whole file.
std::optional<std::string> read_whole(const std::string& path);

// What the link points to, without the " (deleted)" that the kernel appends for a deleted file.
std::optional<std::string> read_link(const std::string& path);

// The rest of the line that begins with `key` ("Uid:"), without blanks before it; "" for none.
std::string_view line_after(std::string_view text, std::string_view key);

// Removes the next word (up to a blank or newline) from `text` and returns it; "" at the end.
std::string_view take_word(std::string_view& text);

// The same for a number to `base`, which 0x may precede; 0 when it is none.
uint64_t take_number(std::string_view& text, int base = 10);

// A path of /proc/PID/maps without a trailing " (deleted)".
std::string_view without_deleted(std::string_view path);

}  // namespace sampan::sampler
