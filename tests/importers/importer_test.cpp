#include "importers/importer.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <random>

#include "importers/imported.h"

namespace sampan::importers {
namespace {

std::string gzipped(std::string_view text) {
  z_stream stream = {};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(compressBound(text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd_of(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 1));
  return out;
}

std::string many_lines() {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += fmt::format("main;function_{} 1\n", i % 1000);
  return text;
}

TEST(Importer, InflatesGzipAndZstd) {
  const std::string text = many_lines();
  EXPECT_EQ(load_bytes(text).samples.size(), 50'000u);
  EXPECT_EQ(load_bytes(gzipped(text)).samples.size(), 50'000u);
  // Several members, as `cat a.gz b.gz` makes them.
  EXPECT_EQ(load_bytes(gzipped(text) + gzipped(text)).samples.size(), 100'000u);
  EXPECT_EQ(load_bytes(zstd_of(text)).samples.size(), 50'000u);
}

TEST(Importer, SaysWhatIsDamaged) {
  std::string bytes = gzipped(many_lines());
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x55);
  EXPECT_EQ(error_of(bytes), "its gzip data is damaged");
  EXPECT_EQ(error_of("\x28\xb5\x2f\xfd damaged"), "its zstd data is damaged");
  EXPECT_EQ(error_of(gzipped(many_lines()).substr(0, 1000)), "its gzip data is cut off");
  EXPECT_EQ(error_of(zstd_of(many_lines()).substr(0, 400)), "its zstd data is cut off");
  EXPECT_EQ(error_of(""), "it is empty");
  EXPECT_EQ(error_of("main 1\n", "fold"),
            "no format 'fold', did you mean 'folded'? (formats: perf-data, gperftools-cpu, "
            "gperftools-heap, "
            "cpuprofile, perf-script, folded, pprof)");
}

TEST(Importer, BytesOfChanceAreNoProfile) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(1 + random() % 300, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    for (const Importer& importer : importers()) {
      try {
        import_bytes(bytes, std::string(importer.name), {});
      } catch (const Error&) {
        continue;
      }
    }
  }
}

TEST(Importer, AnImportedRecordingSaysSo) {
  const profile::Profile profile = load_bytes("main 1\n");
  EXPECT_EQ(profile.session.engine, "import of folded stacks");
  EXPECT_TRUE(profile.session.is_imported());
}

}  // namespace
}  // namespace sampan::importers
