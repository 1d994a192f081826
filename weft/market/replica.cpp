#include "weft/market/replica.h"

#include <algorithm>
#include <chrono>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <thread>

#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

constexpr const char* kVotesBook = "market votes";
constexpr const char* kSignedKind = "signed";
constexpr const char* kPoolKind = "transaction";
// A block may be so far ahead of this machine's clock.
constexpr std::int64_t kMostSecondsAhead = 60;
constexpr std::int64_t kTaughtAtOnce = 64;
constexpr std::size_t kMostWaiting = 4096;

using OrderedJson = nlohmann::ordered_json;

std::int64_t clock_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string transaction_json(const Transaction& transaction) {
  return OrderedJson{{"text", transaction.text},
                     {"signature", to_hex(transaction.signature)}}
      .dump();
}

std::optional<Transaction> transaction_from(const nlohmann::json& json) {
  const auto text = json.find("text");
  const auto signature = json.find("signature");
  Transaction transaction;
  if (text == json.end() || !text->is_string() || signature == json.end() ||
      !signature->is_string() ||
      !from_hex(signature->get<std::string>(), transaction.signature)) {
    return std::nullopt;
  }
  transaction.text = text->get<std::string>();
  return transaction;
}

nlohmann::json object_said(const std::string& text, std::size_t rank) {
  auto json = nlohmann::json::parse(text, /*cb=*/nullptr,
                                    /*allow_exceptions=*/false);
  if (!json.is_object()) {
    throw Error(ErrorCode::kDataLoss, fmt::format("rank {}", rank),
                "says what is no object of JSON");
  }
  return json;
}

std::string block_key(std::int64_t height) {
  return fmt::format("block {}", height);
}

}  // namespace

void add_to_pool(Ledger& ledger, const Transaction& transaction) {
  // Looked at before it can be in anybody's way.
  if (!is_signed(transaction, parse_request(transaction.text).account)) {
    throw Error(ErrorCode::kInvalidArgument, "transaction",
                "it is not signed by its account");
  }
  ledger.transact([&](LedgerWriter& writer) {
    const std::string key = to_hex(digest_of_bytes(transaction.text));
    if (writer.find(kPoolBook, key)) return;
    writer.append({kPoolBook, kPoolKind, transaction_json(transaction), key});
  });
}

// What a rank says of itself as a round begins.
struct Replica::Status {
  std::int64_t clock = 0;  // seconds since 1970
  std::int64_t height = 0;
  std::int64_t round = 0;
  std::optional<Block> signed_block;
  std::vector<Transaction> waiting;
};

Replica::Replica(Market& market, const SigningKey& validator,
                 TextExchange& ranks,
                 std::function<void(const std::string&)> told)
    : market_(market),
      key_(validator),
      conversation_(ranks, validator, market.current().genesis.validators),
      told_(std::move(told)),
      read_(market.ledger().beginning()) {
  const Genesis& genesis = market.current().genesis;
  if (static_cast<std::size_t>(conversation_.size()) < genesis.majority()) {
    throw Error(ErrorCode::kUnavailable, "market",
                "{} of {} validators are here, and {} are a majority: no block "
                "can be made",
                conversation_.size(), genesis.validators.size(),
                genesis.majority())
        .hint("start ranks with the keys of further validators");
  }
}

std::vector<Transaction> Replica::waiting() {
  read_ = market_.ledger().read(read_, [&](const LedgerRecord& record) {
    if (record.book != kPoolBook) return;
    const auto json = nlohmann::json::parse(record.body, /*cb=*/nullptr,
                                            /*allow_exceptions=*/false);
    if (!json.is_object()) return;
    if (auto transaction = transaction_from(json)) {
      pool_.push_back(*std::move(transaction));
    }
  });
  // What was applied, or comes too late for its account, is done with.
  const State& state = market_.current();
  std::erase_if(pool_, [&](const Transaction& transaction) {
    const Request request = parse_request(transaction.text);
    const auto found = state.accounts.find(request.account);
    return request.market != state.market ||
           (found != state.accounts.end() &&
            request.nonce < found->second.nonce);
  });
  return {pool_.begin(), pool_.begin() + static_cast<std::ptrdiff_t>(std::min(
                                             pool_.size(), kMostWaiting))};
}

std::optional<Replica::Signed> Replica::signed_block() {
  const std::int64_t next = market_.current().height + 1;
  std::optional<Signed> found;
  // There are as many as rounds at this height: few.
  for (std::int64_t number = 1;; ++number) {
    const auto record = market_.ledger().store().find(
        kVotesBook, fmt::format("{} {}", block_key(next), number));
    if (!record) return found;
    Block block = parse_block(record->body);
    found = Signed{block.round, std::move(block)};
  }
}

void Replica::remember(const Block& block) {
  market_.ledger().transact([&](LedgerWriter& writer) {
    for (std::int64_t number = 1;; ++number) {
      const std::string key =
          fmt::format("{} {}", block_key(block.height), number);
      if (writer.find(kVotesBook, key)) continue;
      writer.append({kVotesBook, kSignedKind, to_json(block), key});
      return;
    }
  });
}

std::string Replica::own_status() {
  const auto own = signed_block();
  OrderedJson json{{"clock", clock_seconds()},
                   {"height", market_.current().height},
                   {"round", std::max(round_, own ? own->round : 0)},
                   {"signed", own ? to_json(own->block) : std::string()}};
  auto& waiting_json = json["waiting"] = OrderedJson::array();
  for (const Transaction& transaction : waiting()) {
    waiting_json.push_back({{"text", transaction.text},
                            {"signature", to_hex(transaction.signature)}});
  }
  return json.dump();
}

// The middle one of the ranks' clocks. By its own, a proposer whose clock is
// ahead would sign a block that nobody else does, and that all must propose
// again until their clocks have come so far.
std::int64_t Replica::middle_clock(const std::vector<Status>& statuses) {
  std::vector<std::int64_t> clocks;
  for (const Status& status : statuses) clocks.push_back(status.clock);
  const auto middle =
      clocks.begin() + static_cast<std::ptrdiff_t>((clocks.size() - 1) / 2);
  std::ranges::nth_element(clocks, middle);
  return *middle;
}

bool Replica::catch_up(const std::vector<Status>& statuses) {
  const auto [least, most] = std::ranges::minmax_element(
      statuses, {}, [](const Status& status) { return status.height; });
  if (least->height == most->height) return false;
  const auto teacher = static_cast<int>(most - statuses.begin());
  OrderedJson blocks = OrderedJson::array();
  if (teacher == conversation_.rank()) {
    const std::int64_t last =
        std::min(most->height, least->height + kTaughtAtOnce);
    for (std::int64_t height = least->height + 1; height <= last; ++height) {
      const auto record =
          market_.ledger().store().find(kMarketBook, block_key(height));
      WEFT_CHECK(record.has_value(), "the ledger has no block {}", height);
      blocks.push_back(record->body);
    }
  }
  const std::vector<std::string> said =
      conversation_.exchange("blocks", OrderedJson{{"blocks", blocks}}.dump());
  const auto rank = static_cast<std::size_t>(teacher);
  const nlohmann::json taught = object_said(said[rank], rank);
  for (const auto& text : taught.value("blocks", nlohmann::json::array())) {
    if (!text.is_string()) continue;
    const Block block = parse_block(text.get<std::string>());
    if (block.height <= market_.current().height) continue;
    market_.append(block);
    told_(fmt::format("caught up with block {}", block.height));
  }
  return true;
}

std::string Replica::proposal(const std::vector<Status>& statuses,
                              int proposer) {
  // One that a majority may have signed goes first.
  const Status* bound = nullptr;
  for (const Status& status : statuses) {
    if (status.signed_block &&
        (bound == nullptr ||
         status.signed_block->round > bound->signed_block->round)) {
      bound = &status;
    }
  }
  if (proposer != conversation_.rank()) return {};
  if (bound != nullptr) {
    Block block = *bound->signed_block;
    block.round = round_;
    block.signatures.clear();
    return to_json(block);
  }
  std::vector<Transaction> all;
  for (const Status& status : statuses) {
    for (const Transaction& transaction : status.waiting) {
      if (std::ranges::find(all, transaction) == all.end()) {
        all.push_back(transaction);
      }
    }
  }
  Draft draft = market_.draft(middle_clock(statuses), all);
  if (draft.block.transactions.empty() && draft.notes.empty() &&
      draft.block.met.empty()) {
    return {};
  }
  draft.block.round = round_;
  return to_json(draft.block);
}

// Why it does not sign; nothing if it does.
std::string Replica::judge(const Block& block) {
  try {
    if (block.time > clock_seconds() + kMostSecondsAhead) {
      return fmt::format("its time is {} seconds ahead",
                         block.time - clock_seconds());
    }
    const std::vector<Condition> here = market_.conditions_met();
    for (const Condition& condition : block.met) {
      if (std::ranges::find(here, condition) == here.end()) {
        return fmt::format("the record {} is not in this ledger",
                           to_text(condition));
      }
    }
    State state = market_.current();
    std::vector<std::string> notes;
    apply_block(state, block, notes);
    return {};
  } catch (const Error& error) {
    return error.message();
  }
}

bool Replica::sign_and_append(Block block) {
  std::string refusal =
      block.round == round_ ? judge(block) : "it is of another round than this";
  std::string signature;
  if (refusal.empty()) {
    // Written down first: whoever comes back from a crash must know of it.
    remember(block);
    signature = to_hex(sign_block(key_, block));
  }
  const std::vector<std::string> said = conversation_.exchange(
      "signature",
      OrderedJson{{"signature", signature}, {"refusal", refusal}}.dump());
  std::vector<std::string> reasons;
  for (std::size_t rank = 0; rank < said.size(); ++rank) {
    const nlohmann::json json = object_said(said[rank], rank);
    Signature theirs;
    if (from_hex(json.value("signature", ""), theirs)) {
      block.signatures.emplace_back(conversation_.validators()[rank], theirs);
    } else {
      reasons.push_back(
          fmt::format("rank {}: {}", rank, json.value("refusal", "")));
    }
  }
  const Genesis& genesis = market_.current().genesis;
  if (count_signatures(genesis, block) >= genesis.majority()) {
    failed_rounds_ = 0;
    market_.append(block);
    told_(fmt::format("block {} with {} signatures", block.height,
                      block.signatures.size()));
    return true;
  }
  told_(fmt::format("block {} is refused: {}", block.height,
                    fmt::join(reasons, "; ")));
  if (++failed_rounds_ < conversation_.size()) return false;
  throw Error(ErrorCode::kUnavailable, "market",
              "a majority is lost: {} of {} validators sign block {}, and {} "
              "are needed",
              block.signatures.size(), genesis.validators.size(), block.height,
              genesis.majority())
      .detail(fmt::format("{}", fmt::join(reasons, "\n")));
}

bool Replica::step() {
  const std::vector<std::string> said =
      conversation_.exchange("status", own_status());
  std::vector<Status> statuses;
  for (std::size_t rank = 0; rank < said.size(); ++rank) {
    const nlohmann::json json = object_said(said[rank], rank);
    Status status{.clock = json.value("clock", std::int64_t{0}),
                  .height = json.value("height", std::int64_t{0}),
                  .round = json.value("round", std::int64_t{0}),
                  .signed_block = {},
                  .waiting = {}};
    const std::string text = json.value("signed", "");
    if (!text.empty()) status.signed_block = parse_block(text);
    for (const auto& one : json.value("waiting", nlohmann::json::array())) {
      if (auto transaction = transaction_from(one)) {
        status.waiting.push_back(*std::move(transaction));
      }
    }
    round_ = std::max(round_, status.round);
    statuses.push_back(std::move(status));
  }
  ++round_;
  if (catch_up(statuses)) return true;
  const auto proposer = static_cast<int>(round_ % conversation_.size());
  const std::vector<std::string> proposals =
      conversation_.exchange("proposal", proposal(statuses, proposer));
  const std::string& text = proposals[static_cast<std::size_t>(proposer)];
  if (text.empty()) return false;
  return sign_and_append(parse_block(text));
}

void Replica::keep(std::int64_t rounds, double every) {
  for (std::int64_t i = 0; rounds == 0 || i < rounds; ++i) {
    if (!step() && rounds == 0) {
      std::this_thread::sleep_for(std::chrono::duration<double>(every));
    }
  }
}

}  // namespace weft::market
