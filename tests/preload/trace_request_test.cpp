// Requests that ask to be profiled: SHA-256 and HMAC by the vectors of their standards, the headers by the
// rules of W3C Trace Context.
#include "preload/tracing/trace_request.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "preload/process/process.h"
#include "preload/tracing/sha256.h"
#include "support/scratch_directory.h"

namespace sampan::preload {

uint64_t keys_lost = 0;
void count_loss(wire::Loss loss, uint64_t count) {
  if (loss == wire::Loss::kTraceKey) keys_lost += count;
}

namespace {

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string hex(const Digest& digest) {
  std::string text;
  for (const uint8_t byte : digest) {
    text += "0123456789abcdef"[byte / 16];
    text += "0123456789abcdef"[byte % 16];
  }
  return text;
}

std::string sha256(const std::string& message) {
  Sha256 hash;
  hash.add(bytes_of(message));
  return hex(hash.finish());
}

std::string hmac(const std::string& key, const std::string& message) {
  return hex(hmac_sha256(bytes_of(key), bytes_of(message)));
}

// FIPS 180-4, as NIST's examples have them.
TEST(Sha256, HasTheValuesOfTheStandard) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// RFC 4231, 4.2 to 4.8 without 4.6, whose digest is cut.
TEST(Hmac, HasTheValuesOfTheStandard) {
  EXPECT_EQ(hmac(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  std::string counting;
  for (char byte = 1; byte <= 25; ++byte) counting += byte;
  EXPECT_EQ(hmac(counting, std::string(50, '\xcd')),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
  EXPECT_EQ(
      hmac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(hmac(std::string(131, '\xaa'),
                 "This is a test using a larger than block-size key and a larger than block-size "
                 "data. The key "
                 "needs to be hashed before being used by the HMAC algorithm."),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(Digests, AreEqualOnlyIfEachByteIs) {
  const Digest one = hmac_sha256(bytes_of("key"), bytes_of("message"));
  EXPECT_TRUE(equal_in_constant_time(one, one));
  for (size_t i = 0; i < one.size(); ++i) {
    Digest other = one;
    other[i] ^= 1;
    EXPECT_FALSE(equal_in_constant_time(one, other)) << i;
  }
}

const std::string kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST(Traceparent, IsReadAsTheStandardSays) {
  wire::TraceContext request;
  ASSERT_TRUE(parse_traceparent(kParent, request));
  EXPECT_EQ(request.trace_id[0], 0x0a);
  EXPECT_EQ(request.trace_id[15], 0x9c);
  EXPECT_EQ(request.parent_id[0], 0xb7);
  EXPECT_EQ(request.parent_id[7], 0x31);
  EXPECT_EQ(request.span_id, wire::SpanId{});
  EXPECT_TRUE(parse_traceparent("cc" + kParent.substr(2) + "-what-comes-later", request));

  for (size_t size = 0; size < kParent.size(); ++size) {
    EXPECT_FALSE(parse_traceparent(kParent.substr(0, size), request)) << size;
  }
  for (const size_t digit : {0, 3, 34, 36, 51, 53}) {
    for (const char letter : {'g', 'A', '-', ' ', '\0'}) {
      std::string wrong = kParent;
      wrong[digit] = letter;
      EXPECT_FALSE(parse_traceparent(wrong, request)) << wrong;
    }
  }
  EXPECT_FALSE(parse_traceparent("ff" + kParent.substr(2), request));
  EXPECT_FALSE(parse_traceparent(kParent + "-more", request));
  EXPECT_FALSE(parse_traceparent("cc" + kParent.substr(2) + "more", request));
  EXPECT_FALSE(parse_traceparent("00-" + std::string(32, '0') + "-b7ad6b7169203331-01", request));
  EXPECT_FALSE(parse_traceparent(
      "00-0af7651916cd43dd8448eb211c80319c-" + std::string(16, '0') + "-01", request));
}

class Key : public ::testing::Test {
 protected:
  Key() { EXPECT_TRUE(parse_traceparent(kParent, request_)); }
  ~Key() override { read_trace_key(nullptr); }

  void use(const std::string& key) {
    std::ofstream(directory_.file("key"), std::ios::binary) << key;
    keys_lost = 0;
    read_trace_key(directory_.file("key").c_str());
  }
  std::string proof(const std::string& key) const {
    return "sampan=" + hmac(key, "0af7651916cd43dd8448eb211c80319c");
  }
  bool proves(const std::string& tracestate) const {
    return proves_key(tracestate, request_.trace_id);
  }

  const test::ScratchDirectory directory_;
  wire::TraceContext request_;
};

TEST_F(Key, IsProvedByOneEntryOfTracestate) {
  const std::string key = "sixteen bytes ok";
  use(key + "\r\n");
  const std::string right = proof(key);
  EXPECT_EQ(keys_lost, 0u);
  EXPECT_TRUE(proves(right));
  EXPECT_TRUE(proves("a=1,\t" + right + " ,b=2"));
  EXPECT_TRUE(proves(",,a=1," + right));
  std::string upper = right;
  for (size_t i = 7; i < upper.size(); ++i) upper[i] = static_cast<char>(std::toupper(upper[i]));
  EXPECT_TRUE(proves(upper));

  EXPECT_FALSE(proves(""));
  EXPECT_FALSE(proves("sampan="));
  EXPECT_FALSE(proves("sampan" + right.substr(7)));
  EXPECT_FALSE(proves("x" + right));
  EXPECT_FALSE(proves(right + "0"));
  EXPECT_FALSE(proves(proof(key + "!")));
  for (size_t size = 0; size < right.size(); ++size)
    EXPECT_FALSE(proves(right.substr(0, size))) << size;
  wire::TraceId other = request_.trace_id;
  other[5] ^= 4;
  EXPECT_FALSE(proves_key(right, other));
}

TEST_F(Key, IsCountedIfItCannotBeUsed) {
  for (const std::string& wrong :
       {std::string(), std::string("fifteen bytes!!"), std::string(1025, 'k')}) {
    use(wrong);
    EXPECT_EQ(keys_lost, 1u) << wrong.size();
    EXPECT_FALSE(proves(proof(wrong)));
  }
  keys_lost = 0;
  read_trace_key(directory_.file("none").c_str());
  EXPECT_EQ(keys_lost, 1u);
  keys_lost = 0;
  read_trace_key(nullptr);
  EXPECT_EQ(keys_lost, 0u);
  use(std::string(1024, 'k'));
  EXPECT_EQ(keys_lost, 0u);
  EXPECT_TRUE(proves(proof(std::string(1024, 'k'))));
}

}  // namespace
}  // namespace sampan::preload
