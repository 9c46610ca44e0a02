#include "symbolizer/name_table_writer.h"

#include <libdeflate.h>

#include <cstring>

namespace sampan::symbolizer {

namespace {

template <typename Row>
void append(const std::vector<Row>& column, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(column.data()), column.size() * sizeof(Row));
}

}  // namespace

NameTableWriter::NameTableWriter(const NameTable& old) : old_(old) {
  text("");
  for (size_t i = 0; i < old.texts(); ++i) text(old.text(i));
  for (const NameTable::Function& row : old.functions()) function(row);
  for (size_t i = 0; i < old.stacks(); ++i) stack(old.stack(i));
}

void NameTableWriter::add(std::span<const uint64_t> svmas, const LinesByAddress& lines) {
  size_t next = 0;
  const auto keep_old = [&](uint64_t until) {
    for (; next < old_.svmas().size() && old_.svmas()[next] < until; ++next) {
      svmas_.push_back(old_.svmas()[next]);
      stacks_.push_back(old_.stack_of(next));
    }
  };
  for (const uint64_t svma : svmas) {
    const SourceLines* found = lines.find(svma);
    if (found == nullptr || svma > UINT32_MAX) continue;
    keep_old(svma);
    svmas_.push_back(static_cast<uint32_t>(svma));
    stacks_.push_back(stack(*found));
  }
  keep_old(UINT64_MAX);
}

uint32_t NameTableWriter::stack(const SourceLines& source) {
  std::vector<NameTable::Line> lines;
  for (const SourceLine& line : source) {
    lines.push_back({function(line.function), text(line.file), line.line});
  }
  return stack(lines);
}

uint32_t NameTableWriter::stack(std::span<const NameTable::Line> lines) {
  const std::string_view bytes(reinterpret_cast<const char*>(lines.data()), lines.size_bytes());
  const auto next = static_cast<uint32_t>(line_ends_.size());
  const auto [known, is_new] = stack_numbers_.try_emplace(std::string(bytes), next);
  if (is_new) {
    lines_.insert(lines_.end(), lines.begin(), lines.end());
    line_ends_.push_back(static_cast<uint32_t>(lines_.size()));
  }
  return known->second;
}

uint32_t NameTableWriter::function(const SourceFunction* source) {
  const auto [known, is_new] = known_functions_.try_emplace(source);
  if (!is_new) return known->second;
  NameTable::Function row{0, 0, 0};
  // What a place is called depends on the file's path.
  if (source != nullptr && !source->is_place) {
    row = {text(&source->name), text(source->file), source->line};
  }
  return known->second = function(row);
}

uint32_t NameTableWriter::function(const NameTable::Function& row) {
  const std::string_view bytes(reinterpret_cast<const char*>(&row), sizeof row);
  const auto next = static_cast<uint32_t>(functions_.size());
  const auto [known, is_new] = function_numbers_.try_emplace(std::string(bytes), next);
  if (is_new) functions_.push_back(row);
  return known->second;
}

uint32_t NameTableWriter::text(std::string_view text) {
  if (const auto known = text_numbers_.find(text); known != text_numbers_.end()) {
    return known->second;
  }
  const auto next = static_cast<uint32_t>(text_ends_.size());
  text_numbers_.emplace(text, next);
  chars_ += text;
  text_ends_.push_back(static_cast<uint32_t>(chars_.size()));
  return next;
}

std::string NameTableWriter::bytes(const NameTableKey& key) const {
  NameTableHeader header;
  header.key = key;
  const auto count = [](const auto& column) { return static_cast<uint32_t>(column.size()); };
  header.addresses = count(svmas_);
  header.stacks = count(line_ends_);
  header.lines = count(lines_);
  header.functions = count(functions_);
  header.texts = count(text_ends_);
  header.text_bytes = count(chars_);
  std::string bytes(sizeof header, '\0');
  append(svmas_, &bytes);
  append(stacks_, &bytes);
  append(line_ends_, &bytes);
  append(lines_, &bytes);
  append(functions_, &bytes);
  append(text_ends_, &bytes);
  bytes += chars_;
  header.checksum = libdeflate_crc32(0, bytes.data() + sizeof header, bytes.size() - sizeof header);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

}  // namespace sampan::symbolizer
