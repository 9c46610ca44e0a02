// Return addresses told by the code before them: encodings as an assembler writes them.
#include "unwind/call_site.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>

namespace sampan::unwind {
namespace {

using namespace std::literals;

// `code`: what ends before the address; zeros before it.
uint64_t before(std::string_view code) {
  char bytes[8] = {};
  std::memcpy(bytes + sizeof bytes - code.size(), code.data(), code.size());
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

TEST(CallSiteTest, EveryFormOfACall) {
  EXPECT_EQ(call_length(before("\xe8\x01\x02\x03\x04"sv)), 5u);          // call rel32
  EXPECT_EQ(call_length(before("\xff\xd0"sv)), 2u);                      // call *%rax
  EXPECT_EQ(call_length(before("\x41\xff\xd4"sv)), 2u);                  // call *%r12
  EXPECT_EQ(call_length(before("\xff\x13"sv)), 2u);                      // call *(%rbx)
  EXPECT_EQ(call_length(before("\xff\x50\x18"sv)), 3u);                  // call *0x18(%rax)
  EXPECT_EQ(call_length(before("\xff\x14\xc8"sv)), 3u);                  // call *(%rax,%rcx,8)
  EXPECT_EQ(call_length(before("\x41\xff\x54\x24\x08"sv)), 4u);          // call *8(%r12)
  EXPECT_EQ(call_length(before("\xff\x15\x10\x20\x30\x00"sv)), 6u);      // call *slot(%rip)
  EXPECT_EQ(call_length(before("\xff\x90\x00\x01\x00\x00"sv)), 6u);      // call *0x100(%rax)
  EXPECT_EQ(call_length(before("\xff\x14\xc5\x00\x01\x00\x00"sv)), 7u);  // call *0x100(,%rax,8)
  EXPECT_EQ(call_length(before("\xff\x94\x24\x80\x00\x00\x00"sv)), 7u);  // call *0x80(%rsp)
}

TEST(CallSiteTest, WhatIsNoCall) {
  EXPECT_EQ(call_length(0), 0u);
  EXPECT_EQ(call_length(before("\x90"sv)), 0u);
  EXPECT_EQ(call_length(before("\xc3"sv)), 0u);
  EXPECT_EQ(call_length(before("\xe9\x01\x02\x03\x04"sv)), 0u);      // jmp rel32
  EXPECT_EQ(call_length(before("\xff\xe0"sv)), 0u);                  // jmp *%rax
  EXPECT_EQ(call_length(before("\xff\x35\x10\x20\x30\x00"sv)), 0u);  // push slot(%rip)
  EXPECT_EQ(call_length(before("\xff\x50"sv)), 0u);                  // cut off
}

TEST(CallSiteTest, ReturnAddressesThatCodeHasPushed) {
  EXPECT_TRUE(is_pushed_return(0, 0x45'c7'48'f0'65'8b'48));              // mov -16(%rbp),%rsp
  EXPECT_TRUE(is_pushed_return(before("\x90"sv), 0x90'00'00'00'01'e8));  // nop | call
  EXPECT_FALSE(is_pushed_return(before("\xc3"sv), 0x90'00'00'00'01'e8));
  EXPECT_FALSE(is_pushed_return(before("\x90"sv), 0x90));
  EXPECT_FALSE(is_pushed_return(0, 0));
}

TEST(CallSiteTest, CodeThatEndsTheProcess) {
  EXPECT_TRUE(is_exit_call(0, 0x04'03'02'01'e8'ff'31'48, 0xf4));   // xor %rdi,%rdi; call; hlt
  EXPECT_TRUE(is_exit_call(0, 0xf4'04'03'02'01'e8'ff'31, 0));      // xor %edi,%edi; call; hlt
  EXPECT_FALSE(is_exit_call(0, 0x04'03'02'01'e8'ff'31'48, 0x90));  // goes on
  EXPECT_FALSE(is_exit_call(before("\xff\xd0"sv), 0x04'03'02'01'e8'ff'31'48, 0xf4));
}

}  // namespace
}  // namespace sampan::unwind
