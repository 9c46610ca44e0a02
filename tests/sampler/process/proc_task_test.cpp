#include "sampler/process/proc_task.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "sampler/child.h"
#include "support/scratch_directory.h"

namespace sampan::sampler {
namespace {

namespace fs = std::filesystem;

// A shell that stops, under another name and with the arguments of a program that has given itself a title.
class Titled {
 public:
  explicit Titled(const char* title)
      : child_([&] {
          execl(link_.c_str(), title, "-c", "kill -STOP $$", "sh", "", "", "", nullptr);
        }) {
    while (process_status(child_.pid()).value_or(ProcessStatus{}).state != 'T') {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  pid_t pid() const { return child_.pid(); }
  const std::string& program() const { return program_; }
  const std::string& link() const { return link_; }

 private:
  std::string linked(const char* name) const {
    fs::copy_file(fs::canonical("/bin/sh"), program_);
    fs::create_symlink("program", directory_.file(name));
    return directory_.file(name);
  }

  test::ScratchDirectory directory_;
  std::string program_ = directory_.file("program");
  std::string link_ = linked("server");
  Child child_;
};

TEST(ProgramOf, IsTheLinkThatItWasStartedBy) {
  for (const char* title :
       {"server", "/elsewhere/server", "server *:6379", "server: master process"}) {
    const Titled titled(title);
    EXPECT_EQ(executable_of(titled.pid()), titled.program());
    EXPECT_EQ(program_of(titled.pid()), titled.link()) << title;
  }
}

TEST(ProgramOf, IsTheProgramWhereTheFirstWordSaysNothing) {
  for (const char* title : {"worker", "", "/", "-sh"}) {
    const Titled titled(title);
    EXPECT_EQ(program_of(titled.pid()), titled.program()) << title;
  }
}

TEST(CommandLine, EndsBeforeWhatATitleHasCleared) {
  const Titled titled("server *:6379");
  EXPECT_EQ(command_line_of(titled.pid()),
            (std::vector<std::string>{"server *:6379", "-c", "kill -STOP $$", "sh"}));
}

}  // namespace
}  // namespace sampan::sampler
