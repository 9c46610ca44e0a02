#include "profile/own_functions.h"

#include <gtest/gtest.h>

#include "profile/frames.h"
#include "tests/support/text_profile.h"

namespace sampan::profile {
namespace {

std::string own_function_of(const std::string& stack) {
  const Profile profile = test::profile_of(stack + " 1");
  return std::string(function_name(profile, own_function(profile, profile.samples[0].stack)));
}

TEST(OwnFunctions, AreOutsideOfTheLibraries) {
  EXPECT_EQ(own_function_of("main;load;__GI___strdup@@/lib/x86_64-linux-gnu/libc.so.6"), "load");
  EXPECT_EQ(own_function_of("main;load;operator new@@/usr/lib/x86_64-linux-gnu/libstdc++.so.6"),
            "load");
  EXPECT_EQ(own_function_of("main;parse;xmlMalloc@@/usr/lib/libxml2.so.2"), "xmlMalloc");
}

TEST(OwnFunctions, WhatWasMadeOfTheHeadersOfTheCppLibraryIsNone) {
  EXPECT_EQ(
      own_function_of("main;load=>std::vector<int>::push_back=>std::allocator<int>::allocate"),
      "load");
  EXPECT_EQ(own_function_of(
                "main;pop=>wait@/usr/include/c++/12/condition_variable:100;__gthread_cond_wait"),
            "pop");
  EXPECT_EQ(own_function_of("main;load;operator new(unsigned long)"), "load")
      << "linked into the program";
}

TEST(OwnFunctions, AreTheInnermostOfAllWhereThereIsNone) {
  EXPECT_EQ(own_function_of("_start@@/lib/ld-linux-x86-64.so.2;malloc@@/lib/libc.so.6"), "malloc");
  const Profile profile = test::profile_of("main 1");
  EXPECT_EQ(own_function(profile, kNone), kNone);
  OwnFunctions functions(profile);
  EXPECT_EQ(functions.of(kNone), kNone);
  EXPECT_EQ(functions.of(profile.samples[0].stack),
            own_function(profile, profile.samples[0].stack));
}

}  // namespace
}  // namespace sampan::profile
