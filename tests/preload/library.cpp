// A library that the tests load and unload.
extern "C" int sampan_test_library() {
  return 42;
}
