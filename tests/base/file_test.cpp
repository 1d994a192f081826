#include "weft/base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft::file_test {
namespace {

using test::expect_error;
using test::TemporaryFolder;

// While it lives, no file may grow beyond `bytes`: what a full disk does to
// a writer.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  sighandler_t handler_ = SIG_DFL;
};

TEST(ReadText, ReturnsTheWholeFile) {
  const TemporaryFolder folder;
  const std::string text(200000, 'x');
  EXPECT_EQ(read_text(folder.write("long", text)), text);
  EXPECT_EQ(read_text(folder.write("empty", "")), "");
}

TEST(ReadText, RefusesMoreThanTheLimit) {
  const TemporaryFolder folder;
  const auto path = folder.write("file", "12345");
  EXPECT_EQ(read_text(path, 5), "12345");
  expect_error(ErrorCode::kExhausted, {path.string(), "4 bytes"},
               [&] { read_text(path, 4); });
}

TEST(ReadText, EndsAnEndlessDeviceAtTheLimit) {
  expect_error(ErrorCode::kExhausted, {"/dev/zero"},
               [] { read_text("/dev/zero", 1000); });
}

TEST(ReadText, NamesTheMissingFileAndTheFolder) {
  const TemporaryFolder folder;
  expect_error(ErrorCode::kUnavailable,
               {(folder / "none").string(), "No such file"},
               [&] { read_text(folder / "none"); });
  expect_error(ErrorCode::kUnavailable, {"directory"},
               [&] { read_text(folder.path()); });
}

TEST(MappedFile, ShowsTheBytesAndMoves) {
  const TemporaryFolder folder;
  MappedFile file(folder.write("file", "abc"));
  const MappedFile moved = std::move(file);
  ASSERT_EQ(moved.bytes().size(), 3u);
  EXPECT_EQ(moved.bytes()[2], 'c');
  EXPECT_TRUE(MappedFile(folder.write("empty", "")).bytes().empty());
}

TEST(MappedFile, RefusesWhatIsNoRegularFile) {
  const TemporaryFolder folder;
  expect_error(ErrorCode::kUnavailable, {"directory"},
               [&] { MappedFile{folder.path()}; });
  expect_error(ErrorCode::kUnavailable, {"/dev/null", "regular"},
               [] { MappedFile{"/dev/null"}; });
}

TEST(AtomicFile, ReplacesOnlyOnCommit) {
  const TemporaryFolder folder;
  const auto path = folder.write("file", "old");
  {
    AtomicFile file(path);
    file.write("new");
    EXPECT_EQ(read_text(path), "old");
  }
  EXPECT_EQ(read_text(path), "old");
  write_file(path, "new");
  EXPECT_EQ(read_text(path), "new");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"file"});
}

TEST(AtomicFile, KeepsTheOldFileWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  const auto path = folder.write("file", "old");
  {
    const FileSizeLimit limit(1000);
    expect_error(ErrorCode::kExhausted, {path.string(), "write"},
                 [&] { write_file(path, std::string(5000, 'x')); });
  }
  EXPECT_EQ(read_text(path), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"file"});
}

TEST(AtomicFile, NamesAFolderThatIsNotThere) {
  const TemporaryFolder folder;
  const auto path = folder / "none/file";
  expect_error(ErrorCode::kUnavailable, {path.string(), "No such file"},
               [&] { write_file(path, "text"); });
}

TEST(AtomicFile, WritesWhereALinkLeads) {
  const TemporaryFolder folder;
  const auto path = folder.write("file", "old");
  std::filesystem::create_symlink("file", folder / "link");
  std::filesystem::create_symlink("link", folder / "second");
  write_file(folder / "second", "new");
  EXPECT_EQ(read_text(path), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "second"));
  std::filesystem::remove(path);
  write_file(folder / "link", "again");
  EXPECT_EQ(read_text(path), "again");
  std::filesystem::create_symlink("round", folder / "round");
  expect_error(ErrorCode::kUnavailable, {(folder / "round").string(), "link"},
               [&] { write_file(folder / "round", "text"); });
}

TEST(AtomicFile, WritesToAPipeAsItIs) {
  const TemporaryFolder folder;
  const auto path = folder / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  // Nobody waits for the other one to open it.
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  write_file(path, "text");
  char text[8] = {};
  EXPECT_EQ(::read(reader, text, sizeof(text)), 4);
  EXPECT_STREQ(text, "text");
  ::close(reader);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"pipe"});
  EXPECT_TRUE(std::filesystem::is_fifo(path));
}

TEST(LinkFile, GivesASecondNameThatLaterWritesDoNotTouch) {
  const TemporaryFolder folder;
  const auto source = folder.write("source", "one");
  const auto target = folder.write("target", "zero");
  link_file(source, target);
  EXPECT_EQ(read_text(target), "one");
  link_file(source, target);  // a second time: both are one file already
  write_file(source, "two");
  EXPECT_EQ(read_text(target), "one");
  EXPECT_EQ(folder.names().size(), 2u);
}

TEST(RemoveStaleTemporaries, ClearsThoseOfDeadProcessesOnly) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    // Dies in the middle of writing, as a kill would have it.
    auto* file = new AtomicFile(folder / "file");
    file->write("half");
    ::_exit(0);
  }
  ASSERT_GT(child, 0);
  ::waitpid(child, nullptr, 0);
  ASSERT_EQ(folder.names().size(), 1u);
  AtomicFile ours(folder / "other");
  folder.write(".hidden.tmp-file", "not a number");
  remove_stale_temporaries(folder.path());
  EXPECT_EQ(folder.names().size(), 2u);
  ours.commit();
}

TEST(CreateFolders, NamesWhatIsInTheWay) {
  const TemporaryFolder folder;
  create_folders(folder / "a/b/c");
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/b/c"));
  folder.write("file", "");
  expect_error(ErrorCode::kUnavailable, {"file"},
               [&] { create_folders(folder / "file/below"); });
}

}  // namespace
}  // namespace weft::file_test
