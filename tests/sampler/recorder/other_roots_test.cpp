#include "sampler/recorder/other_roots.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>

#include "../child.h"
#include "sampler/process/module_image.h"

namespace sampan::sampler {
namespace {

namespace fs = std::filesystem;

std::shared_ptr<FileDescriptor> open_here(const std::string& path) {
  return std::make_shared<FileDescriptor>(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

// A child sees this program as /inner/program, by a link as /linked/program, and something else as /inner/other.
class OtherRootsTest : public testing::Test {
 protected:
  OtherRootsTest() {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "inner");
    fs::create_directory_symlink("/inner", folder_ / "linked");
    fs::copy("/proc/self/exe", folder_ / "inner/program");
    fs::copy("/bin/true", folder_ / "inner/other");
    layout_ = *read_elf_layout(bytes_of_file(open_here("/proc/self/exe")));
  }
  ~OtherRootsTest() override { fs::remove_all(folder_); }

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "NOT TESTED: only root changes the root";
    ASSERT_FALSE(layout_.build_id.empty());
  }

  // It calls `enter`, then waits.
  std::unique_ptr<const Child> child(const std::function<bool()>& enter) const {
    int ready[2];
    if (pipe(ready) != 0) abort();
    auto made = std::make_unique<const Child>([&] {
      const char done = enter() ? 'y' : 'n';
      (void)!write(ready[1], &done, 1);
      while (true) pause();
    });
    char done = 0;
    (void)!read(ready[0], &done, 1);
    close(ready[0]);
    close(ready[1]);
    EXPECT_EQ(done, 'y');
    return made;
  }
  bool change_root() const { return chroot(folder_.c_str()) == 0 && chdir("/") == 0; }
  // mount(2) changes whole mounts only, and a chroot's root is none.
  static bool root_is_mounted() {
    struct statx root;
    return statx(AT_FDCWD, "/", 0, 0, &root) == 0 &&
           (root.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  }
  // The folder is the root of another mount namespace, where its files are copies that we have no path for.
  bool change_mounts() const {
    const std::string inner = folder_ / "inner", aside = folder_ / "aside";
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_PRIVATE | MS_REC, nullptr) != 0) {
      return false;
    }
    fs::copy(inner, aside, fs::copy_options::recursive);
    if (mount("none", inner.c_str(), "tmpfs", 0, nullptr) != 0) return false;
    fs::copy(aside, inner, fs::copy_options::recursive);
    return change_root();
  }

  ModuleLoadRecord record(const std::string& path) const {
    return {1, 0, 0x1000, 0x2000, layout_.build_id, path, std::nullopt};
  }
  std::string placed(pid_t pid, ModuleLoadRecord module) {
    const ProcessRoot::Seen root = ProcessRoot::of(pid);
    if (!root || *root == nullptr) return "not in another root";
    roots_.place(pid, **root, &module);
    return module.path;
  }

  const fs::path folder_ =
      fs::canonical(testing::TempDir()) / ("other-roots-" + std::to_string(getpid()));
  ElfLayout layout_;
  OtherRoots roots_;
};

TEST_F(OtherRootsTest, OurOwnIsNone) {
  const ProcessRoot::Seen own = ProcessRoot::of(getpid());
  ASSERT_TRUE(own);
  EXPECT_EQ(*own, nullptr);
  EXPECT_FALSE(ProcessRoot::of(0));
}

TEST_F(OtherRootsTest, AfterChrootTheFileHasAPathHere) {
  const auto child = this->child([this] { return change_root(); });
  const std::string ours = folder_ / "inner/program";
  EXPECT_EQ(placed(child->pid(), record("/inner/program")), ours);
  EXPECT_EQ(placed(child->pid(), record("/linked/program")), ours);
  EXPECT_EQ(placed(child->pid(), record("/inner/other")), folder_ / "inner/other")
      << "not the file, but the place where it would be";
  EXPECT_EQ(placed(child->pid(), record("[vdso]")), "[vdso]");
  EXPECT_TRUE(roots_.hidden().empty());
}

TEST_F(OtherRootsTest, InAnotherMountNamespaceTheFileStaysOpen) {
  if (!root_is_mounted()) GTEST_SKIP() << "NOT TESTED: the root is no mount point, as in a chroot";
  {
    const auto child = this->child([this] { return change_mounts(); });
    EXPECT_EQ(placed(child->pid(), record("/inner/program")), "/inner/program");
    EXPECT_EQ(placed(child->pid(), record("/inner/program")), "/inner/program") << "a second time";
    EXPECT_EQ(placed(child->pid(), record("/inner/other")), "/inner/other");
  }
  ASSERT_EQ(roots_.hidden().size(), 1u) << "only the file with this build-id, and once";
  const HiddenFile& file = roots_.hidden()[0];
  EXPECT_EQ(file.path, "/inner/program");
  const auto layout = read_elf_layout(bytes_of_file(open_here(file.open_as())));
  ASSERT_TRUE(layout) << "the process has ended, and with it its mount namespace";
  EXPECT_EQ(layout->build_id, layout_.build_id);
}

// What this path is here could not be told from it later.
TEST_F(OtherRootsTest, WithoutABuildIdItMustBeWhatIsInMemory) {
  if (!root_is_mounted()) GTEST_SKIP() << "NOT TESTED: the root is no mount point, as in a chroot";
  const auto child = this->child([this] { return change_mounts(); });
  ModuleLoadRecord module = record("/inner/program");
  module.build_id.clear();
  EXPECT_EQ(placed(child->pid(), module),
            "/proc/" + std::to_string(child->pid()) + "/root/inner/program");
  EXPECT_TRUE(roots_.hidden().empty());
}

}  // namespace
}  // namespace sampan::sampler
