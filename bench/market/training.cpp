// A training on examples in plain memory beside the same one on encrypted
// shards, in turns: opening and decrypting included.
#include <algorithm>
#include <filesystem>
#include <numeric>

#include "bench/market/measure.h"

#include "weft/base/file.h"
#include "weft/data/fetch.h"
#include "weft/market/key_service.h"
#include "weft/market/platform.h"
#include "weft/market/shard_set.h"
#include "weft/train/step/loaded_data.h"
#include "weft/train/trainer.h"

namespace weft::market_bench {
namespace {

namespace fs = std::filesystem;

constexpr int kShards = 5;

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void train_on(Recipe recipe, const DatasetRef& data, const fs::path& folder) {
  recipe.log.folder = folder.string();
  const GivenObjects given{
      .data = loaded_data(hold_out_fifth(data), data_options(recipe))};
  TrainObserver silent;
  Trainer(recipe, {.name = "bench", .given = given}).run(silent);
  fs::remove_all(folder);
}

// What the attestation of a job takes: measuring the program is told apart, as
// it takes the time to read its file.
Told attestation(const std::string& recipe, const fs::path& folder) {
  const fs::path key = folder / "machine.key";
  fs::remove(key);
  market::SigningKey().write(key);
  const Watch measuring;
  const auto platform = market::software_platform(key, recipe, "training");
  const double measured = measuring.seconds();
  const Watch watch;
  const market::KeyChannel channel;
  market::KeyRequest request{
      .job = 1, .channel = channel.public_key(), .contents = {}};
  const auto asked = platform->quote(request);
  WEFT_CHECK(market::is_signed(request, asked, platform->machine()));
  market::Report report{
      .job = 1, .reads = std::vector<std::int64_t>(kShards), .values = {}};
  const auto signature = platform->quote(report);
  WEFT_CHECK(market::is_signed(report, signature, platform->machine()));
  return {{"measure_ms", 1e3 * measured}, {"attest_ms", 1e3 * watch.seconds()}};
}

}  // namespace

Told measure_training(const std::string& recipe_path, const std::string& folder,
                      const std::string& scratch, std::int64_t pairs) {
  const std::string text = read_text(recipe_path);
  const Recipe recipe = parse_recipe(text, recipe_path);
  const DatasetSplits splits =
      open_data({.name = recipe.data.name, .folder = folder});
  const fs::path place = scratch;
  create_folders(place);
  std::vector<market::NamedShard> shards;
  const std::int64_t size = splits.train->size() / kShards;
  for (int i = 0; i < kShards; ++i) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(size));
    std::iota(rows.begin(), rows.end(), i * size);
    const fs::path path = place / fmt::format("{}.shard", i);
    const market::ShardKey key = market::draw_shard_key();
    shards.push_back(
        {path, market::write_shard(path, key, *splits.train, rows), key});
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(size * kShards));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  std::vector<double> plain;
  std::vector<double> sealed;
  std::vector<double> ratios;
  for (std::int64_t i = 0; i < pairs; ++i) {
    const Watch first;
    // A plain reader opens its files, too.
    const DatasetSplits opened =
        open_data({.name = recipe.data.name, .folder = folder});
    train_on(recipe, subset(opened.train, all), place / "plain");
    plain.push_back(first.seconds());
    const Watch second;
    const auto set = std::make_shared<const market::ShardSet>(shards);
    train_on(recipe, subset(set, all), place / "sealed");
    set->finish();
    sealed.push_back(second.seconds());
    ratios.push_back(sealed.back() / plain.back());
  }
  Told told{{"examples", all.size()},
            {"plain_s", median_of(plain)},
            {"sealed_s", median_of(sealed)},
            {"ratio", median_of(ratios)},
            {"low", *std::min_element(ratios.begin(), ratios.end())},
            {"high", *std::max_element(ratios.begin(), ratios.end())}};
  told.update(attestation(text, place));
  return told;
}

}  // namespace weft::market_bench
