// Any bytes for everything that push reads from elsewhere: pieces and labels of the spool, answers of
// a store, variables. The first byte says which. Whatever is accepted must be written back the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "remote/push/labels.h"
#include "remote/push/piece.h"
#include "remote/push/store.h"

using namespace sampan;

namespace {

// The bytes themselves, and as the content of a piece with a valid checksum.
void read_piece(const std::string& text) {
  try {
    const push::Piece piece = push::parse_piece(text, "piece");
    if (push::file_of(piece).size() < piece.body.size()) abort();
  } catch (const Error&) {
  }
  const size_t half = text.size() / 2;
  const push::Piece piece{.id = "1", .query = text.substr(0, half), .body = text.substr(half)};
  try {
    const push::Piece same = push::parse_piece(push::file_of(piece), "piece");
    if (same.query != piece.query || same.body != piece.body) abort();
  } catch (const Error&) {  // no query that may stand in an address
  }
}

void read_labels(const std::string& text) {
  push::Labels labels;
  try {
    labels = push::environment_labels([&](const char* name) {
      return std::string_view(name) == "SAMPAN_LABELS" ? text.c_str() : nullptr;
    });
  } catch (const Error&) {
    return;
  }
  if (push::decoded_pairs(push::encoded_pairs(labels.pairs()), '&') != labels.pairs()) abort();
  push::StoreLabels own = push::pyroscope_labels(labels);
  for (const auto& [name, value] : own.pairs) {
    if (name.empty() || name.find_first_of(" ={},") != name.npos) abort();
    if (value.size() > 2048) abort();
  }
  push::ingest_name(&own);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (*data % 4) {
    case 0: read_piece(text); break;
    case 1: read_labels(text); break;
    case 2: push::container_id(text, text); break;
    default:
      for (const long status : {200L, 400L, 503L}) {
        const push::Delivery said = push::delivery_of(push::Format::kOtlp, status, text, 0);
        if (said.why.find_first_of("\n\r\x1b") != std::string::npos) abort();
      }
  }
  return 0;
}
