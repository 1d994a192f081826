#include "weft/train/recipe/older_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "weft/train/recipe/recipe.h"

namespace weft::older_text_test {
namespace {

TEST(OlderText, CollectivesGetBracketsAndCommas) {
  EXPECT_EQ(collective_of_today("blueconnect(2,2)"), "blueconnect([2,2])");
  EXPECT_EQ(collective_of_today("blueconnect(8)"), "blueconnect([8])");
  EXPECT_EQ(collective_of_today("blueconnect(factors=4,64 chunks=2)"),
            "blueconnect(factors=[4,64], chunks=2)");
  EXPECT_EQ(collective_of_today("blueconnect(chunks=2 stage=halving)"),
            "blueconnect(chunks=2, stage=[halving])");
  EXPECT_EQ(collective_of_today("blueconnect(factors=[2, 2], stage=ring, "
                                "chunks=1)"),
            "blueconnect(factors=[2, 2], stage=[ring], chunks=1)");
  for (const char* today :
       {"blueconnect", "blueconnect()", "blueconnect([2, 2])",
        "blueconnect(factors=[4, 8], chunks=2)", "auto", "ring",
        "blueconnect(chunks=2, stage=[halving])", "dsar(qsgd(4))",
        "blueconnect(stage=)", "leaders(group=2)", "blueconnect(2,2"}) {
    EXPECT_EQ(collective_of_today(today), today);
  }
}

// A recipe as a checkpoint of before holds it, with one more setting.
Recipe read(const std::string& setting) {
  constexpr const char* kText = R"(
[model]
name = "mlp"
hidden = [4]
[data]
name = "digits"
augment = ["crop", "flip"]
[optimizer]
name = "sgd"
lr = { schedule = "cosine", from = 0.1, to = 0.001, warmup = 200 }
weight_decay = 0.0
[sync]
)";
  return parse_recipe(kText + setting, "recipe");
}

// What recipes could say then, and still can: of each, what is saved today is
// read as the same.
TEST(OlderText, IsReadAndWrittenAnew) {
  const std::vector<std::string> codecs{"none",
                                        "f16",
                                        "bf16",
                                        "int8",
                                        "qsgd(4)",
                                        "qsgd(bits=4, coding=elias)",
                                        "terngrad",
                                        "onebit",
                                        "3lc",
                                        "3lc(1.5)",
                                        "3lc(zero_run=false)",
                                        "qsgd(8) | zstd",
                                        "deflate",
                                        "auto"};
  const std::vector<std::string> sparse_codecs{
      "none",
      "index:raw value:f16",
      "index:bitmap",
      "index:rle",
      "index:huffman",
      "index:delta",
      "index:bloom(policy=p0)",
      "index:bloom(policy=p1)",
      "index:bloom(policy=p2)",
      "index:bloom(policy=left)",
      "index:bloom(policy=p0) value:qsgd(7)",
      "value:fit-poly",
      "value:fit-dexp",
      "value:deflate",
      "index:delta(packing=huffman) value:sketch"};
  const std::vector<std::string> sparsifiers{"topk(0.05, method=bucket)",
                                             "topk(0.05, method=sampled)",
                                             "randomk(0.1)", "threshold(0.01)"};
  const std::vector<std::string> collectives{
      "ring",
      "direct",
      "tree",
      "doubling",
      "rabenseifner",
      "rabenseifner(order=near)",
      "leaders(group=2)",
      "blueconnect(2,2)",
      "blueconnect(factors=2,2 chunks=2)",
      "all_gather"};
  const std::vector<std::string> sparse_collectives{
      "recursive_double", "split_allgather", "dsar",         "dsar(qsgd(4))",
      "gather_pairs",     "all_gather",      "auto(qsgd(4))"};
  const auto expect_kept = [](const std::string& setting) {
    try {
      const Recipe recipe = read(setting);
      EXPECT_EQ(parse_recipe(to_toml(recipe), "again"), recipe) << setting;
    } catch (const Error& error) {
      ADD_FAILURE() << setting << "\n" << error.what();
    }
  };
  const std::string sparse = "sparsify = \"topk(0.05)\"\n";
  for (const auto& codec : codecs) expect_kept("codec = \"" + codec + '"');
  for (const auto& codec : sparse_codecs) {
    expect_kept(fmt::format("{}codec = \"{}\"", sparse, codec));
  }
  for (const auto& each : sparsifiers)
    expect_kept("sparsify = \"" + each + '"');
  for (const auto& each : collectives) {
    expect_kept("collective = \"" + each + '"');
  }
  for (const auto& each : sparse_collectives) {
    expect_kept(fmt::format("{}collective = \"{}\"", sparse, each));
  }
  EXPECT_EQ(read("collective = \"blueconnect(2,2)\"").sync.collective,
            "blueconnect(factors=[2, 2], stage=[ring], chunks=1)");
  EXPECT_EQ(read("collective = \"blueconnect(factors=[2, 2], stage=halving, "
                 "chunks=1)\"")
                .sync.collective,
            "blueconnect(factors=[2, 2], stage=[halving], chunks=1)");
}

}  // namespace
}  // namespace weft::older_text_test
