#include "exporters/bundle.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/late_library.h"

namespace sampan::exporters {
namespace {

// Loaded late: libxml2, ICU and a dozen other libraries come with it.
struct Archive {
  LateLibrary library{"libarchive.so.13", "libarchive13", "libarchive"};
  decltype(archive_write_new)* write_new = library["archive_write_new"];
  decltype(archive_write_free)* write_free = library["archive_write_free"];
  decltype(archive_write_fail)* write_fail = library["archive_write_fail"];
  decltype(archive_write_set_format_pax_restricted)* set_format_pax_restricted =
      library["archive_write_set_format_pax_restricted"];
  decltype(archive_write_add_filter_gzip)* add_filter_gzip =
      library["archive_write_add_filter_gzip"];
  decltype(archive_write_set_options)* set_options = library["archive_write_set_options"];
  decltype(archive_write_set_bytes_in_last_block)* set_bytes_in_last_block =
      library["archive_write_set_bytes_in_last_block"];
  decltype(archive_write_open)* open = library["archive_write_open"];
  decltype(archive_write_header)* header = library["archive_write_header"];
  decltype(archive_write_data)* data = library["archive_write_data"];
  decltype(archive_write_close)* close = library["archive_write_close"];
  decltype(archive_error_string)* error_string = library["archive_error_string"];
  decltype(archive_entry_new)* entry_new = library["archive_entry_new"];
  decltype(archive_entry_free)* entry_free = library["archive_entry_free"];
  decltype(archive_entry_set_pathname)* set_pathname = library["archive_entry_set_pathname"];
  decltype(archive_entry_set_filetype)* set_filetype = library["archive_entry_set_filetype"];
  decltype(archive_entry_set_perm)* set_perm = library["archive_entry_set_perm"];
  decltype(archive_entry_set_size)* set_size = library["archive_entry_set_size"];
};

const Archive& libarchive() {
  static const Archive library;
  return library;
}

}  // namespace

struct Bundle::Callbacks {
  static la_ssize_t write(archive*, void* context, const void* bytes, size_t size) {
    Bundle& bundle = *static_cast<Bundle*>(context);
    try {
      bundle.file_.write({static_cast<const char*>(bytes), size});
      return static_cast<la_ssize_t>(size);
    } catch (...) {
      bundle.failure_ = std::current_exception();
      return -1;
    }
  }
};

Bundle::Bundle(OutputFile& file) : file_(file), archive_(libarchive().write_new()) {
  if (archive_ == nullptr) throw Error("libarchive cannot be set up: out of memory");
  check(libarchive().set_format_pax_restricted(archive_));
  check(libarchive().add_filter_gzip(archive_));
  // As GzipWriter: the level that compresses profiles well and fast, and no time.
  check(libarchive().set_options(archive_, "gzip:compression-level=3,gzip:!timestamp"));
  check(libarchive().set_bytes_in_last_block(archive_, 1));
  check(libarchive().open(archive_, this, nullptr, Callbacks::write, nullptr));
}

Bundle::~Bundle() {
  libarchive().write_fail(archive_);  // an unfinished bundle is not completed
  libarchive().write_free(archive_);
}

void Bundle::add(const std::string& name, const std::string& path) {
  const uint64_t size = std::filesystem::file_size(path);
  const std::unique_ptr<archive_entry, decltype(archive_entry_free)*> entry(
      libarchive().entry_new(), libarchive().entry_free);
  libarchive().set_pathname(entry.get(), name.c_str());
  libarchive().set_filetype(entry.get(), AE_IFREG);
  libarchive().set_perm(entry.get(), 0644);
  libarchive().set_size(entry.get(), static_cast<la_int64_t>(size));
  check(libarchive().header(archive_, entry.get()));
  std::ifstream file(path, std::ios::binary);
  std::string buffer(1 << 18, '\0');
  for (uint64_t left = size; left > 0;) {
    const size_t part = static_cast<size_t>(std::min<uint64_t>(left, buffer.size()));
    if (!file.read(buffer.data(), static_cast<std::streamsize>(part))) {
      throw Error("reading {}: it ends early", path);
    }
    const la_ssize_t written = libarchive().data(archive_, buffer.data(), part);
    if (written != static_cast<la_ssize_t>(part)) check(ARCHIVE_FATAL);
    left -= part;
  }
}

void Bundle::finish() {
  check(libarchive().close(archive_));
}

void Bundle::check(int result) {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  if (result == ARCHIVE_OK) return;
  const char* const reason = libarchive().error_string(archive_);
  throw Error("writing a bundle: {}", reason != nullptr ? reason : "libarchive failed");
}

}  // namespace sampan::exporters
