#include "weft/market/genesis.h"

#include <nlohmann/json.hpp>

#include "weft/base/error.h"

namespace weft::market {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::int64_t kMillion = 1'000'000;

OrderedJson keys_json(const std::vector<PublicKey>& keys) {
  OrderedJson list = OrderedJson::array();
  for (const PublicKey& key : keys) list.push_back(to_hex(key));
  return list;
}

// Reads the members of an object, each once, and refuses others.
class GenesisReader {
 public:
  explicit GenesisReader(std::string_view text)
      : json_(nlohmann::json::parse(text, /*cb=*/nullptr,
                                    /*allow_exceptions=*/false)) {
    if (!json_.is_object()) throw wrong("is no object of JSON");
  }

  std::string text(const char* name) {
    const nlohmann::json value = taken(name);
    if (!value.is_string()) throw wrong(fmt::format("'{}' is no text", name));
    return value.get<std::string>();
  }
  PublicKey key(const char* name) { return key_from_text(text(name), name); }
  std::vector<PublicKey> keys(const char* name) {
    const nlohmann::json value = taken(name);
    if (!value.is_array()) throw wrong(fmt::format("'{}' is no list", name));
    std::vector<PublicKey> list;
    for (const auto& entry : value) {
      if (!entry.is_string()) throw wrong(fmt::format("'{}' has no key", name));
      list.push_back(key_from_text(entry.get<std::string>(), name));
      if (std::count(list.begin(), list.end(), list.back()) > 1) {
        throw wrong(fmt::format("'{}' names a key twice", name));
      }
    }
    return list;
  }
  std::int64_t number(const char* name, std::int64_t most = kMostAmount) {
    const nlohmann::json value = taken(name);
    if (!value.is_number_unsigned() ||
        value.get<std::uint64_t>() > static_cast<std::uint64_t>(most)) {
      throw wrong(
          fmt::format("'{}' is no whole number from 0 to {}", name, most));
    }
    return value.get<std::int64_t>();
  }
  bool flag(const char* name) {
    const nlohmann::json value = taken(name);
    if (!value.is_boolean()) {
      throw wrong(fmt::format("'{}' is neither true nor false", name));
    }
    return value.get<bool>();
  }
  void finish() const {
    if (!json_.empty()) {
      throw wrong(
          fmt::format("'{}' is not known", json_.items().begin().key()));
    }
  }

 private:
  static Error wrong(const std::string& what) {
    return Error(ErrorCode::kInvalidArgument, "genesis", "{}", what);
  }
  nlohmann::json taken(const char* name) {
    const auto found = json_.find(name);
    if (found == json_.end()) throw wrong(fmt::format("has no '{}'", name));
    nlohmann::json value = std::move(*found);
    json_.erase(found);
    return value;
  }

  nlohmann::json json_;
};

}  // namespace

std::string to_json(const Genesis& genesis) {
  return OrderedJson{{"name", genesis.name},
                     {"treasurer", to_hex(genesis.treasurer)},
                     {"platform", to_hex(genesis.platform)},
                     {"checkers", keys_json(genesis.checkers)},
                     {"vendors", keys_json(genesis.vendors)},
                     {"validators", keys_json(genesis.validators)},
                     {"platform_millionths", genesis.platform_millionths},
                     {"least_stake", genesis.least_stake},
                     {"slashed_stake", genesis.slashed_stake},
                     {"most_tryrun_reads", genesis.most_tryrun_reads},
                     {"pays_second_price", genesis.pays_second_price}}
      .dump();
}

Genesis parse_genesis(std::string_view text) {
  GenesisReader reader(text);
  Genesis genesis;
  genesis.name = reader.text("name");
  genesis.treasurer = reader.key("treasurer");
  genesis.platform = reader.key("platform");
  genesis.checkers = reader.keys("checkers");
  genesis.vendors = reader.keys("vendors");
  genesis.validators = reader.keys("validators");
  genesis.platform_millionths = reader.number("platform_millionths", kMillion);
  genesis.least_stake = reader.number("least_stake");
  genesis.slashed_stake = reader.number("slashed_stake");
  genesis.most_tryrun_reads = reader.number("most_tryrun_reads");
  genesis.pays_second_price = reader.flag("pays_second_price");
  reader.finish();
  return genesis;
}

Digest market_of(std::string_view genesis_text) {
  return digest_of_bytes(genesis_text);
}

}  // namespace weft::market
