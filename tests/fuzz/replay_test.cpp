// Every fuzz target on its seed corpus, and on what becomes of each seed when
// it is cut short, when a bit flips, and when bytes are put in its way: the
// part of fuzzing that needs no fuzzer and is the same on every run.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"

#include "weft/base/philox.h"

// The targets themselves, each under a name of its own.
#define LLVMFuzzerTestOneInput fuzz_checkpoint
#include "tests/fuzz/checkpoint_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_cifar
#include "tests/fuzz/cifar_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_codec
#include "tests/fuzz/codec_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_condition
#include "tests/fuzz/condition_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_csv
#include "tests/fuzz/csv_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_datagram
#include "tests/fuzz/datagram_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_description
#include "tests/fuzz/description_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_edge_list
#include "tests/fuzz/edge_list_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_exported
#include "tests/fuzz/exported_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_frame
#include "tests/fuzz/frame_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_gate_file
#include "tests/fuzz/gate_file_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_graph
#include "tests/fuzz/graph_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_gzip
#include "tests/fuzz/gzip_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_handshake
#include "tests/fuzz/handshake_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_idx
#include "tests/fuzz/idx_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_image
#include "tests/fuzz/image_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_json_lines
#include "tests/fuzz/json_lines_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_json_rows
#include "tests/fuzz/json_rows_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_ledger
#include "tests/fuzz/ledger_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_libsvm
#include "tests/fuzz/libsvm_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_market
#include "tests/fuzz/market_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_member
#include "tests/fuzz/member_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_objects
#include "tests/fuzz/objects_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_onnx
#include "tests/fuzz/onnx_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_parquet
#include "tests/fuzz/parquet_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_recipe
#include "tests/fuzz/recipe_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_records
#include "tests/fuzz/records_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_safetensors
#include "tests/fuzz/safetensors_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_schema
#include "tests/fuzz/schema_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_statistics
#include "tests/fuzz/statistics_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_stream
#include "tests/fuzz/stream_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_survey
#include "tests/fuzz/survey_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_table_rows
#include "tests/fuzz/table_rows_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_tar
#include "tests/fuzz/tar_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_text
#include "tests/fuzz/text_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_tree
#include "tests/fuzz/tree_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
// Parsers of the server, where it is built.
#ifdef WEFT_SERVE
#define LLVMFuzzerTestOneInput fuzz_infer_bytes
#include "tests/fuzz/infer_bytes_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_infer_json
#include "tests/fuzz/infer_json_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_infer_message
#include "tests/fuzz/infer_message_fuzz.cpp"
#undef LLVMFuzzerTestOneInput
#endif

namespace weft::replay_test {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

// Mutations of each kind per seed.
constexpr std::size_t kMutations = 300;

struct Target {
  const char* name;  // of its corpus and of NAME_fuzz.cpp
  int (*run)(const std::uint8_t* data, std::size_t size);
};

const Target kTargets[] = {
    {"checkpoint", fuzz_checkpoint},
    {"cifar", fuzz_cifar},
    {"codec", fuzz_codec},
    {"condition", fuzz_condition},
    {"csv", fuzz_csv},
    {"datagram", fuzz_datagram},
    {"description", fuzz_description},
    {"edge_list", fuzz_edge_list},
    {"exported", fuzz_exported},
    {"frame", fuzz_frame},
    {"gate_file", fuzz_gate_file},
    {"graph", fuzz_graph},
    {"gzip", fuzz_gzip},
    {"handshake", fuzz_handshake},
    {"idx", fuzz_idx},
    {"image", fuzz_image},
    {"json_lines", fuzz_json_lines},
    {"json_rows", fuzz_json_rows},
    {"ledger", fuzz_ledger},
    {"libsvm", fuzz_libsvm},
    {"market", fuzz_market},
    {"member", fuzz_member},
    {"objects", fuzz_objects},
    {"onnx", fuzz_onnx},
    {"parquet", fuzz_parquet},
    {"recipe", fuzz_recipe},
    {"records", fuzz_records},
    {"safetensors", fuzz_safetensors},
    {"schema", fuzz_schema},
    {"statistics", fuzz_statistics},
    {"stream", fuzz_stream},
    {"survey", fuzz_survey},
    {"table_rows", fuzz_table_rows},
    {"tar", fuzz_tar},
    {"text", fuzz_text},
    {"tree", fuzz_tree},
#ifdef WEFT_SERVE
    {"infer_bytes", fuzz_infer_bytes},
    {"infer_json", fuzz_infer_json},
    {"infer_message", fuzz_infer_message},
#endif
};

fs::path fuzz_folder() { return fs::path(WEFT_SOURCE_DIR) / "tests/fuzz"; }

std::vector<Bytes> seeds_of(const Target& target) {
  std::vector<fs::path> paths;
  for (const auto& entry :
       fs::directory_iterator(fuzz_folder() / "corpus" / target.name)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> seeds;
  for (const auto& path : paths) {
    const MappedFile file(path);
    seeds.emplace_back(file.bytes().begin(), file.bytes().end());
  }
  return seeds;
}

class Replay : public testing::TestWithParam<Target> {
 protected:
  // Exactly as large as the input, so that a sanitizer sees a byte too many.
  static void run(const Bytes& input) {
    const Bytes exact(input.begin(), input.end());
    GetParam().run(exact.data(), exact.size());
  }
  // Evenly spread over [0, size).
  static std::vector<std::size_t> positions(std::size_t size) {
    std::vector<std::size_t> result;
    const std::size_t count = std::min(size, kMutations);
    for (std::size_t i = 0; i < count; ++i) result.push_back(i * size / count);
    return result;
  }
};

TEST_P(Replay, HasSeeds) { EXPECT_GE(seeds_of(GetParam()).size(), 2u); }

TEST_P(Replay, SurvivesTheCorpus) {
  run({});
  for (const Bytes& seed : seeds_of(GetParam())) EXPECT_NO_THROW(run(seed));
}

TEST_P(Replay, SurvivesTruncation) {
  for (const Bytes& seed : seeds_of(GetParam())) {
    for (const std::size_t size : positions(seed.size())) {
      const auto end = seed.begin() + static_cast<std::ptrdiff_t>(size);
      EXPECT_NO_THROW(run(Bytes(seed.begin(), end))) << size;
    }
  }
}

TEST_P(Replay, SurvivesFlippedBits) {
  for (const Bytes& seed : seeds_of(GetParam())) {
    for (const std::size_t bit : positions(8 * seed.size())) {
      Bytes damaged = seed;
      damaged[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
      EXPECT_NO_THROW(run(damaged)) << bit;
    }
  }
}

TEST_P(Replay, SurvivesScatteredDamage) {
  const RandomStream random{1, 0, 0};
  std::uint64_t next = 0;
  for (const Bytes& seed : seeds_of(GetParam())) {
    for (std::size_t i = 0; i < kMutations && !seed.empty(); ++i) {
      Bytes damaged = seed;
      for (int byte = 0; byte < 4; ++byte) {
        const std::uint32_t word = random.word(next++);
        damaged[word % damaged.size()] = static_cast<std::uint8_t>(word >> 24);
      }
      EXPECT_NO_THROW(run(damaged)) << i;
    }
  }
}

TEST_P(Replay, SurvivesDoubledAndMovedPieces) {
  for (const Bytes& seed : seeds_of(GetParam())) {
    for (const std::size_t at : positions(seed.size())) {
      const auto middle = seed.begin() + static_cast<std::ptrdiff_t>(at);
      Bytes moved(middle, seed.end());
      moved.insert(moved.end(), seed.begin(), middle);
      EXPECT_NO_THROW(run(moved)) << at;
      Bytes doubled(seed.begin(), middle);
      doubled.insert(doubled.end(), seed.begin(), seed.end());
      EXPECT_NO_THROW(run(doubled)) << at;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parsers, Replay, testing::ValuesIn(kTargets),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

// A target that is written but not replayed would go unnoticed.
TEST(ReplayTargets, AreAllThatThereAre) {
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(fuzz_folder())) {
    const std::string name = entry.path().filename().string();
#ifndef WEFT_SERVE
    if (name.starts_with("infer_")) continue;
#endif
    files += name.ends_with("_fuzz.cpp");
  }
  EXPECT_EQ(files, std::size(kTargets));
}

}  // namespace
}  // namespace weft::replay_test
