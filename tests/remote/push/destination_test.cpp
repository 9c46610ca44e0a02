#include "remote/push/store.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace sampan::push {
namespace {

std::string why(std::string_view url, std::string_view format) {
  try {
    destination("--to", url, format);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Destination, NeedsThePathOrTheFormat) {
  const Destination by_path = destination("--to", "https://host/tenant/ingest", "");
  EXPECT_EQ(by_path.format, Format::kIngest);
  EXPECT_EQ(by_path.url, "https://host/tenant/ingest");
  const Destination by_name = destination("--to", "http://host:4040/", "pyroscope");
  EXPECT_EQ(by_name.format, Format::kPyroscope);
  EXPECT_EQ(by_name.url, "http://host:4040/push.v1.PusherService/Push");
  EXPECT_EQ(destination("--to", "http://h/v1development/profiles/", "otlp").url,
            "http://h/v1development/profiles");
}

TEST(Destination, RefusesInvalidAddresses) {
  EXPECT_NE(why("http://host:4040", "").find("which format"), std::string::npos);
  for (const char* url : {"", "host", "ftp://host", "http://", "http://a b/", "http://h/?a=b"}) {
    EXPECT_NE(why(url, "ingest"), "") << url;
  }
  EXPECT_EQ(why("ftp://me:word@host/?token=x", "ingest").find("word"), std::string::npos);
}

TEST(Destination, HasItsOwnDirectory) {
  const auto name = [](std::string_view url, std::vector<std::string> headers = {}) {
    return directory_name(destination("--to", url, "ingest"), headers);
  };
  const std::string usual = name("https://host:4040");
  EXPECT_TRUE(usual.starts_with("ingest-host%3A4040-")) << usual;
  EXPECT_NE(usual, name("http://host:4040"));
  EXPECT_NE(usual, name("https://host:4040", {"X-Scope-OrgID: a"}));
  EXPECT_NE(usual, name("https://me:word@host:4040"));
  // A password or token may be renewed.
  EXPECT_EQ(name("https://me:word@host:4040"), name("https://me:other@host:4040"));
  EXPECT_EQ(usual, name("https://host:4040", {"authorization: x"}));
}

}  // namespace
}  // namespace sampan::push
