// Precompiled for the commands: the header-only library that takes longest to compile.
#include <CLI/CLI.hpp>
