// The search of a recurrent layer's parameters, and what it keeps.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>

#include "tests/support/environment.h"
#include "tests/support/temporary_folder.h"

#include "weft/base/file.h"
#include "weft/graph/kernel_times.h"
#include "weft/kernels/recurrent/search.h"

namespace weft::recurrent_search_test {
namespace {

using recurrent::Cell;
using recurrent::LoopParameters;
using recurrent::SequenceShape;

TEST(RecurrentSearch, AllCandidatesAreThereOnceAndCanRun) {
  for (const Cell cell : {Cell::kLstm, Cell::kGru}) {
    for (const DType weights : {DType::kF32, DType::kBF16, DType::kI8}) {
      for (const std::size_t batch : {1u, 2u, 3u, 4u, 20u}) {
        const SequenceShape shape{cell, 10, batch, 70, 90, weights};
        const auto all = recurrent::candidates(shape, 2);
        EXPECT_GE(all.size(), 6u);
        for (const LoopParameters& one : all) {
          EXPECT_EQ(std::ranges::count(all, one), 1);
          EXPECT_NE(find_sequence(shape, one), nullptr) << to_string(one);
          // Those that are predicted to be fast come first.
          EXPECT_LE(predicted_seconds(shape, all[0]),
                    predicted_seconds(shape, one));
        }
        const auto timed = recurrent::timed_parameters(shape, 2);
        EXPECT_EQ(timed[0], default_parameters(shape, 2));
        EXPECT_LE(timed.size(), recurrent::kTimedCandidates + 1);
        EXPECT_NE(find_sequence(shape, timed[0]), nullptr);
      }
    }
  }
}

TEST(RecurrentSearch, KeepsWhatItFindsAndIsNeverWorseThanTheDefault) {
  const test::TemporaryFolder folder;
  const test::EnvironmentValue cache("WEFT_CACHE", folder.path().c_str());
  const test::EnvironmentValue policy("WEFT_KERNELS", "measured");
  // What somebody else has left there is no reason to fail, nor to believe it.
  const std::filesystem::path file = kernel_times_of_machine().file();
  write_file(file, "another machine\nnonsense\t\t=\n");
  const SequenceShape shape{Cell::kGru, 10, 1, 96, 80};
  const LoopParameters found = recurrent::fastest_parameters(shape, 1);
  const auto timed = recurrent::timed_parameters(shape, 1);
  EXPECT_EQ(std::ranges::count(timed, found), 1);
  const std::string text = read_text(file);
  for (const char* part : {"gru", "96 inputs", "80 hidden", "1 batch", "f32",
                           "1 threads", "recurrent loop"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  std::vector<std::string> names;
  for (const LoopParameters& each : timed) names.push_back(to_string(each));
  const TimesFile known = kernel_times_of_machine();
  EXPECT_EQ(known.size(), 1u);
  const auto* times = known.find(
      "1 threads, recurrent loop: gru, 96 inputs, 80 hidden, 1 batch, f32",
      names);
  ASSERT_NE(times, nullptr);
  for (const KernelTime& time : *times) {
    if (time.name == to_string(found)) {
      EXPECT_LE(time.seconds, times->front().seconds);
    }
  }
  // It is not measured again, and of other sizes nothing is known.
  EXPECT_EQ(recurrent::fastest_parameters(shape, 1), found);
  EXPECT_EQ(read_text(file), text);
  SequenceShape other = shape;
  other.batch = 2;
  recurrent::fastest_parameters(other, 1);
  EXPECT_EQ(kernel_times_of_machine().size(), 2u);
  // Layers that are over at once are not searched for.
  recurrent::fastest_parameters({Cell::kLstm, 5, 1, 8, 8}, 1);
  EXPECT_EQ(kernel_times_of_machine().size(), 2u);
}

TEST(RecurrentSearch, ByRankIsTheDefault) {
  const test::EnvironmentValue policy("WEFT_KERNELS", "ranked");
  const SequenceShape shape{Cell::kLstm, 10, 1, 200, 200};
  EXPECT_EQ(recurrent::fastest_parameters(shape, 2),
            default_parameters(shape, 2));
}

}  // namespace
}  // namespace weft::recurrent_search_test
