// The shim's own functions of the C library do what those of the C library do.
#include <gtest/gtest.h>
#include <string.h>
#include <time.h>

#include <string>
#include <vector>

#define SAMPAN_OWN_LIBC_TEST  // only under names of their own
#include "preload/support/own_libc.cpp"

namespace sampan::preload {
namespace {

std::string letters(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(1 + i * 7 % 255);
  return text;
}

TEST(OwnLibc, CopiesAnySizeAnywhere) {
  for (size_t size = 0; size < 70; ++size) {
    for (size_t from = 0; from < 12; ++from) {
      for (size_t to = 0; to < 12; ++to) {
        const std::string source = letters(100);
        std::string expected(100, '.'), found = expected;
        memcpy(expected.data() + to, source.data() + from, size);
        EXPECT_EQ(own_memcpy(found.data() + to, source.data() + from, size), found.data() + to);
        ASSERT_EQ(found, expected) << size;
        expected = found = source;
        memmove(expected.data() + to, expected.data() + from, size);
        EXPECT_EQ(own_memmove(found.data() + to, found.data() + from, size), found.data() + to);
        ASSERT_EQ(found, expected) << size << " from " << from << " to " << to;
      }
    }
  }
}

int sign(int value) {
  return (value > 0) - (value < 0);
}

TEST(OwnLibc, LooksIntoTexts) {
  const char* const texts[] = {"", "a", "ab", "aba", "/usr/lib:/lib c", "b\xff", "abab"};
  for (const char* text : texts) {
    EXPECT_EQ(own_strnlen(text, 3), strnlen(text, 3));
    for (const int letter : {int{'a'}, int{'b'}, int{':'}, 0xff, 0}) {
      EXPECT_EQ(own_strchr(text, letter), strchr(text, letter)) << text;
      EXPECT_EQ(own_strrchr(text, letter), strrchr(text, letter)) << text;
      EXPECT_EQ(own_strchrnul(text, letter), strchrnul(text, letter)) << text;
    }
    for (const char* other : texts) {
      EXPECT_EQ(sign(own_strcmp(text, other)), sign(strcmp(text, other))) << text << other;
      EXPECT_EQ(sign(own_strncmp(text, other, 2)), sign(strncmp(text, other, 2))) << text << other;
      EXPECT_EQ(own_strcspn(text, other), strcspn(text, other)) << text << other;
      EXPECT_EQ(own_strstr(text, other), strstr(text, other)) << text << other;
    }
  }
}

TEST(OwnLibc, SetsAndCompares) {
  for (size_t size = 0; size < 40; ++size) {
    std::string text = letters(41);
    std::string expected = text;
    memset(expected.data(), 0xab, size);
    EXPECT_EQ(own_memset(text.data(), 0xab, size), text.data());
    EXPECT_EQ(text, expected);
    std::string other = text;
    EXPECT_EQ(own_memcmp(text.data(), other.data(), 41), 0);
    other[size] = static_cast<char>(text[size] + 1);
    const int order = memcmp(text.data(), other.data(), 41);
    EXPECT_EQ(own_memcmp(text.data(), other.data(), 41) < 0, order < 0);
    EXPECT_EQ(own_memcmp(other.data(), text.data(), 41) > 0, order < 0);
    EXPECT_EQ(own_memcmp(text.data(), other.data(), size), 0);
  }
}

TEST(OwnLibc, Strings) {
  for (const std::string text : {"", "a", "seventeen letters"}) {
    EXPECT_EQ(own_strlen(text.c_str()), text.size());
    char copy[32];
    EXPECT_EQ(own_stpcpy(copy, text.c_str()), copy + text.size());
    EXPECT_EQ(copy, text);
    copy[0] = 'x';
    EXPECT_EQ(own_strcpy(copy, text.c_str()), copy);
    EXPECT_EQ(copy, text);
  }
}

TEST(OwnLibc, ClocksByTheKernelAndByTheVdso) {
  const auto ns = [](auto* read, clockid_t clock) {
    timespec now{};
    EXPECT_EQ(read(clock, &now), 0);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
  };
  for (const bool by_vdso : {false, true}) {
    vdso_clock = by_vdso ? &clock_gettime : nullptr;
    for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID}) {
      const long before = ns(clock_gettime, clock);
      const long own = ns(own_clock_gettime, clock);
      EXPECT_LE(before, own);
      EXPECT_LE(own, ns(clock_gettime, clock));
    }
  }
}

}  // namespace
}  // namespace sampan::preload
