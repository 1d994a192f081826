// Records as they arrive.
#include "weft/data/record_stream.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft::record_stream_test {
namespace {

using test::expect_error;
using test::TemporaryFolder;

TEST(RecordStream, CutsBehindWholeRecords) {
  const TemporaryFolder folder;
  RecordStream stream(folder.write(
      "a.csv", "a,b\r\n\n1,\"two\nlines, \"\"quoted\"\"\"\n\n2,3\n4,5"));
  EXPECT_EQ(stream.line(), 1u);
  EXPECT_EQ(stream.next(1), "a,b\r\n");
  EXPECT_EQ(stream.line(), 2u);
  EXPECT_EQ(stream.next(2), "\n1,\"two\nlines, \"\"quoted\"\"\"\n\n2,3\n");
  EXPECT_EQ(stream.line(), 7u);
  EXPECT_EQ(stream.next(9), "4,5");
  EXPECT_EQ(stream.next(9), "");
}

TEST(RecordStream, WaitsForWhatArrives) {
  const TemporaryFolder folder;
  const auto path = folder / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::jthread writer([&] {
    std::ofstream out(path);
    // Pieces end anywhere.
    for (const char* piece : {"1,", "2\n3", ",4", "\n5,6\n"}) {
      out << piece << std::flush;
    }
  });
  RecordStream stream(path);
  EXPECT_EQ(stream.next(1), "1,2\n");
  EXPECT_EQ(stream.next(1), "3,4\n");
  EXPECT_EQ(stream.next(2), "5,6\n");
  EXPECT_EQ(stream.next(1), "");
}

TEST(RecordStream, RefusesWhatNeverEnds) {
  const TemporaryFolder folder;
  const std::string much(RecordStream::kMostRecordBytes + 2, 'x');
  RecordStream stream(folder.write("a.csv", "\"" + much + "\n"));
  expect_error(ErrorCode::kDataLoss, {"a.csv", "a record of more than"},
               [&] { stream.next(1); });
  expect_error(ErrorCode::kUnavailable, {"none.csv", "cannot be opened"},
               [&] { RecordStream(folder / "none.csv"); });
  RecordStream a_folder(folder.path());
  expect_error(ErrorCode::kUnavailable, {"cannot be read"},
               [&] { a_folder.next(1); });
}

}  // namespace
}  // namespace weft::record_stream_test
