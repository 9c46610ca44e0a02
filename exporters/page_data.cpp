#include "exporters/page_data.h"

#include <zlib.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "exporters/page_parts.h"
#include "exporters/sample_windows.h"

namespace sampan::exporters {
namespace {

// Columns are small already, and higher levels take several times as long.
constexpr int kLevel = 3;
constexpr uint64_t kMarkersPart = 4;  // markers get at most a quarter of the page

std::string compressed(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::string result(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(result.data()), &size,
                reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), kLevel) != Z_OK) {
    throw Error("compressing {} bytes: out of memory", bytes.size());
  }
  result.resize(size);
  return result;
}

// RFC 4648, section 4.
std::string base64(std::string_view bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  const auto byte = [&](size_t i) {
    return i < bytes.size() ? uint32_t{static_cast<uint8_t>(bytes[i])} : 0;
  };
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const uint32_t group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    for (int shift = 18; shift >= 0; shift -= 6) text += kDigits[group >> shift & 63];
  }
  const size_t padding = (3 - bytes.size() % 3) % 3;
  text.replace(text.size() - padding, padding, padding, '=');
  return text;
}

class PageEncoder {
 public:
  PageEncoder(const profile::View& view, uint64_t max_size, const PageSamples& types)
      : view_(view),
        types_(types),
        locks_(view.profile->shown == profile::Shown::kLocks ? std::optional<PageLocks>(view)
                                                             : std::nullopt),
        windows_(view, locks_ ? locks_->labels : std::vector<uint32_t>()),
        tables_(std::in_place, *view.profile) {
    if (types.shown == types.first) {
      markers_ = page_markers(view, (max_size == 0 ? UINT64_MAX : max_size) / kMarkersPart);
    }
    for (const uint32_t sample : view.samples) tables_->row(view.profile->samples[sample].stack);
    table_columns_ = tables_->columns();
  }

  PageData encode(uint64_t max_size) {
    PageData data;
    data.type = types_.shown;
    encode_columns(&data);
    encode_header(&data);
    const uint64_t header_size = std::min<uint64_t>(data.header.size(), max_size);
    bool encoded = true;
    data.notes = windows_.fit(max_size - header_size, [&] {
      if (!std::exchange(encoded, false)) {
        keep_what_is_used();
        encode_columns(&data);
      }
      return data.columns.size();
    });
    data.notes.insert(data.notes.end(), markers_.notes.begin(), markers_.notes.end());
    if (!data.notes.empty()) encode_header(&data);
    return data;
  }

 private:
  // Stacks that only left-out samples had are left out, too.
  void keep_what_is_used() {
    tables_.emplace(*view_.profile);
    for (size_t position = 0; position < view_.threads.size(); ++position) {
      for (const WindowSample& sample : windows_.samples(position)) tables_->row(sample.stack);
    }
    table_columns_ = tables_->columns();
  }

  void encode_columns(PageData* data) {
    encode_samples();
    std::string bytes;
    for (const PageColumn& column : table_columns_) bytes += column.bytes();
    for (const PageColumn& column : sample_columns_) bytes += column.bytes();
    for (const PageColumn& column : markers_.columns) bytes += column.bytes();
    data->columns = page_text(bytes);
  }

  void encode_header(PageData* data) const {
    std::vector<const PageColumn*> columns;
    for (const PageColumn& column : table_columns_) columns.push_back(&column);
    for (const PageColumn& column : sample_columns_) columns.push_back(&column);
    for (const PageColumn& column : markers_.columns) columns.push_back(&column);
    data->header = page_text(page_header(view_, types_, *tables_, locks_ ? &*locks_ : nullptr,
                                         markers_.texts, columns, data->notes));
  }

  void encode_samples() {
    PageColumn of_thread("samples.ofThread"), time("samples.timeNs"), weight("samples.weightNs"),
        stack("samples.stack"), waiting("samples.waiting", PageColumn::Kind::kFlags),
        taken("samples.taken"), side("samples.side"),
        waits("samples.waits", PageColumn::Kind::kDoubles), longest("samples.longestNs");
    of_thread.add(0);
    for (size_t position = 0; position < view_.threads.size(); ++position) {
      for (const WindowSample& sample : windows_.samples(position)) {
        time.add(static_cast<int64_t>(sample.time_ns));
        weight.add(static_cast<int64_t>(sample.weight_ns));
        stack.add(tables_->row(sample.stack));
        waiting.add(sample.waiting);
        taken.add(static_cast<int64_t>(sample.samples));
        if (!locks_) continue;
        side.add(sample.label);
        waits.add_double(sample.waits);
        longest.add(static_cast<int64_t>(sample.longest_ns));
      }
      of_thread.add(static_cast<int64_t>(time.count()));
    }
    sample_columns_.clear();
    for (PageColumn* column : {&of_thread, &time, &weight, &stack, &waiting, &taken}) {
      sample_columns_.push_back(std::move(*column));
    }
    if (!locks_) return;
    for (PageColumn* column : {&side, &waits, &longest}) {
      sample_columns_.push_back(std::move(*column));
    }
  }

  const profile::View& view_;
  const PageSamples& types_;
  std::optional<PageLocks> locks_;
  SampleWindows windows_;
  std::optional<PageTables> tables_;
  PageMarkers markers_;
  std::vector<PageColumn> table_columns_;
  std::vector<PageColumn> sample_columns_;
};

}  // namespace

std::string page_text(std::string_view bytes) {
  return base64(compressed(bytes));
}

PageData page_data(const profile::View& view, uint64_t max_size, const PageSamples& samples) {
  return PageEncoder(view, max_size, samples).encode(max_size);
}

}  // namespace sampan::exporters
