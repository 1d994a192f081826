#include "weft/market/block.h"

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>

#include "weft/base/parallel.h"
#include "weft/market/proposals.h"
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

constexpr std::string_view kBlockContext = "weft market block";
constexpr std::int64_t kSignaturesAtOnce = 8;
// As JSON within JSON a text may have twice its bytes, and a signature has 128
// digits: with so many a block fits into a record.
constexpr std::size_t kMostBlockBytes = kMostBodyBytes / 4;
constexpr std::size_t kSignatureBytes = 192;

// What blocks are made of is read once, and its signatures are looked at on all
// threads, as they take most of the time.
struct Checked {
  std::optional<Request> request;
  std::string refusal;  // why it is none
};

Checked checked(const Transaction& transaction) {
  Checked result;
  try {
    result.request = parse_request(transaction.text);
    if (!is_signed(transaction, result.request->account)) {
      result.request.reset();
      result.refusal = "it is not signed by its account";
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) throw;
    result.refusal = error.what();
  }
  return result;
}

std::vector<Checked> checked_all(const std::vector<Transaction>& transactions) {
  std::vector<Checked> results(transactions.size());
  std::atomic<bool> is_defect = false;
  parallel_for(std::ssize(transactions), kSignaturesAtOnce,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const auto at = static_cast<std::size_t>(i);
                   try {
                     results[at] = checked(transactions[at]);
                   } catch (...) {
                     is_defect = true;
                   }
                 }
               });
  WEFT_CHECK(!is_defect, "a transaction could not be read");
  return results;
}

Error no_block(std::string_view what) {
  return Error(ErrorCode::kDataLoss, "block", "{}", what);
}

const nlohmann::json& block_member(const nlohmann::json& json,
                                   const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) throw no_block(fmt::format("has no '{}'", name));
  return *found;
}

std::string block_text(const nlohmann::json& json, const char* name) {
  const auto& value = block_member(json, name);
  if (!value.is_string()) throw no_block(fmt::format("'{}' is no text", name));
  return value.get<std::string>();
}

std::int64_t block_number(const nlohmann::json& json, const char* name) {
  const auto& value = block_member(json, name);
  if (!value.is_number_unsigned() ||
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(kMostAmount)) {
    throw no_block(fmt::format("'{}' is no number", name));
  }
  return value.get<std::int64_t>();
}

template <std::size_t kBytes>
std::array<std::uint8_t, kBytes> block_hex(const nlohmann::json& json,
                                           const char* name) {
  std::array<std::uint8_t, kBytes> bytes;
  if (!from_hex(block_text(json, name), bytes)) {
    throw no_block(fmt::format("'{}' has not {} digits", name, 2 * kBytes));
  }
  return bytes;
}

const nlohmann::json& block_list(const nlohmann::json& json, const char* name) {
  const auto& value = block_member(json, name);
  if (!value.is_array()) throw no_block(fmt::format("'{}' is no list", name));
  for (const auto& entry : value) {
    if (!entry.is_object()) {
      throw no_block(fmt::format("'{}' holds what is no object", name));
    }
  }
  return value;
}

// Ends the block: what is to be told is told, and the books are balanced.
Digest close_block(State& state, std::vector<std::string>& notes) {
  end_block(state, notes);
  check_money(state);
  return state.root = root_of(state);
}

}  // namespace

std::string to_json(const Block& block) {
  nlohmann::ordered_json json{{"height", block.height},
                              {"time", block.time},
                              {"round", block.round},
                              {"previous", to_hex(block.previous)}};
  auto& transactions = json["transactions"] = nlohmann::ordered_json::array();
  for (const Transaction& transaction : block.transactions) {
    transactions.push_back({{"text", transaction.text},
                            {"signature", to_hex(transaction.signature)}});
  }
  auto& met = json["met"] = nlohmann::ordered_json::array();
  for (const Condition& condition : block.met) {
    met.push_back({{"record", to_text(condition)}});
  }
  json["root"] = to_hex(block.root);
  auto& signatures = json["signatures"] = nlohmann::ordered_json::array();
  for (const auto& [validator, signature] : block.signatures) {
    signatures.push_back(
        {{"validator", to_hex(validator)}, {"signature", to_hex(signature)}});
  }
  return json.dump();
}

Block parse_block(std::string_view text) {
  const auto json = nlohmann::json::parse(text, /*cb=*/nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object()) throw no_block("is no object of JSON");
  Block block;
  block.height = block_number(json, "height");
  block.time = block_number(json, "time");
  block.round = block_number(json, "round");
  block.previous = block_hex<32>(json, "previous");
  for (const auto& entry : block_list(json, "transactions")) {
    block.transactions.push_back(
        {block_text(entry, "text"), block_hex<64>(entry, "signature")});
  }
  for (const auto& entry : block_list(json, "met")) {
    block.met.push_back(parse_condition(block_text(entry, "record")));
  }
  block.root = block_hex<32>(json, "root");
  for (const auto& entry : block_list(json, "signatures")) {
    block.signatures.emplace_back(block_hex<32>(entry, "validator"),
                                  block_hex<64>(entry, "signature"));
  }
  return block;
}

Digest digest_of(const Block& block) {
  Block plain = block;
  plain.signatures.clear();
  return digest_of_bytes(to_json(plain));
}

Signature sign_block(const SigningKey& validator, const Block& block) {
  return validator.sign(kBlockContext, to_hex(digest_of(block)));
}

std::size_t count_signatures(const Genesis& genesis, const Block& block) {
  if (block.signatures.empty()) return 0;
  const std::string digest = to_hex(digest_of(block));
  std::set<PublicKey> signers;
  for (const auto& [validator, signature] : block.signatures) {
    if (std::ranges::find(genesis.validators, validator) ==
        genesis.validators.end()) {
      throw Error(ErrorCode::kInvalidArgument, "block",
                  "is signed by {}, who is no validator of this market",
                  short_name(validator));
    }
    if (!is_signed_by(validator, signature, kBlockContext, digest)) {
      throw Error(ErrorCode::kInvalidArgument, "block",
                  "the signature of {} is not of this block",
                  short_name(validator));
    }
    signers.insert(validator);
  }
  return signers.size();
}

namespace {

// What no new block takes, although it could be applied.
void check_new(const Request& request) {
  if (request.def->name == "propose" || request.def->name == "execute") {
    check_names_all(request.fields);
  }
}

}  // namespace

Draft draft_block(State state, std::int64_t time,
                  const std::vector<Transaction>& transactions,
                  const std::vector<Condition>& met) {
  Draft draft;
  draft.block.previous = state.root;
  draft.block.time = std::max(time, state.time);
  begin_block(state, draft.block.time, draft.notes);
  draft.block.height = state.height;
  for (const Condition& condition : met) {
    meet_condition(state, condition, draft.notes);
  }
  draft.block.met = met;
  const std::vector<Checked> requests = checked_all(transactions);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < transactions.size(); ++i) {
    if (bytes + transactions[i].text.size() > kMostBlockBytes) {
      draft.refused.push_back({i, "the block is full: it is for the next"});
      continue;
    }
    if (!requests[i].request) {
      draft.refused.push_back({i, requests[i].refusal});
      continue;
    }
    try {
      check_new(*requests[i].request);
      apply_request(state, *requests[i].request, draft.notes);
      draft.block.transactions.push_back(transactions[i]);
      bytes += transactions[i].text.size() + kSignatureBytes;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kInternal) throw;
      draft.refused.push_back({i, error.what()});
    }
  }
  draft.block.root = close_block(state, draft.notes);
  draft.state = std::move(state);
  return draft;
}

void apply_block(State& state, const Block& block,
                 std::vector<std::string>& notes) {
  const auto refused = [&](const std::string& why) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("block {}", block.height), "{}", why);
  };
  if (block.height != state.height + 1) {
    throw refused(fmt::format("block {} is the next", state.height + 1));
  }
  if (block.previous != state.root) {
    throw refused("it follows from another state");
  }
  begin_block(state, block.time, notes);
  for (const Condition& condition : block.met) {
    meet_condition(state, condition, notes);
  }
  for (const Checked& transaction : checked_all(block.transactions)) {
    if (!transaction.request) throw refused(transaction.refusal);
    apply_request(state, *transaction.request, notes);
  }
  if (close_block(state, notes) != block.root) {
    throw refused("its root is not what follows from its transactions");
  }
}

State beginning_of(std::string_view genesis_text) {
  State state;
  state.genesis = parse_genesis(genesis_text);
  state.market = market_of(genesis_text);
  state.root = root_of(state);
  return state;
}

}  // namespace weft::market
