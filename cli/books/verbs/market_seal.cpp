// weft market seal: examples of a data set as an encrypted shard.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/data/fetch.h"
#include "weft/market/enclave.h"
#include "weft/market/subset.h"
#include "weft/validation/required.h"

namespace weft::cli {
namespace {

struct MarketSealArguments {
  std::string data;
  std::string folder;
  std::string rows;
  std::string schema;
  std::string store;
  std::string keys;
  bool as_json = false;
};

void seal(const MarketSealArguments& arguments) {
  if (!arguments.schema.empty()) {
    validation::require_schema(
        arguments.schema, {.data = arguments.data, .folder = arguments.folder},
        "market", "--schema");
  }
  const DatasetSplits splits =
      open_data({.name = arguments.data, .folder = arguments.folder});
  std::vector<std::int64_t> rows;
  for (const auto& range :
       market::parse_subset(arguments.rows, splits.train->size())) {
    for (std::int64_t row = range.first; row <= range.last; ++row) {
      rows.push_back(row);
    }
  }
  create_folders(arguments.store);
  market::ShardKeys keys = market::read_shard_keys(arguments.keys);
  const market::ShardKey key = market::draw_shard_key();
  const auto path = std::filesystem::path(arguments.store) / "shard.new";
  const market::Digest content =
      market::write_shard(path, key, *splits.train, rows);
  // The key is kept before anybody learns of the shard.
  keys[content] = key;
  market::write_shard_keys(arguments.keys, keys);
  std::filesystem::rename(path, market::stored(arguments.store, content));
  if (arguments.as_json) {
    return print_json(
        {{"content", market::to_hex(content)}, {"examples", rows.size()}});
  }
  fmt::print("content={} examples={}\n", market::to_hex(content), rows.size());
}

void add_market_seal(CLI::App& verb) {
  auto arguments = std::make_shared<MarketSealArguments>();
  verb.add_option("DATA", arguments->data, "one of weft data list: adult")
      ->required();
  verb.add_option("--data", arguments->folder, "folder of the data")
      ->type_name("DIR");
  verb.add_option("--rows", arguments->rows,
                  "of the training part, as 0-9999 or 1,5,7-9; all, if it is "
                  "left out");
  verb.add_option("--schema", arguments->schema,
                  "seal nothing unless the training part is as this schema of "
                  "weft validate says, in its environment market where it has "
                  "one")
      ->type_name("FILE");
  verb.add_option("--store", arguments->store,
                  "folder where it is put, under its digest")
      ->required()
      ->type_name("DIR");
  verb.add_option("--keys", arguments->keys,
                  "file of the owner's keys, to which its key is added")
      ->required()
      ->type_name("FILE");
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.callback([arguments] { seal(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_market_seal(cli::VerbRegistry& verbs) {
  verbs.add({.name = "market seal",
             .summary = "Encrypt examples into a shard",
             .order = 50,
             .add = cli::add_market_seal});
}

}  // namespace weft
