#include "weft/market/market.h"

#include <algorithm>
#include <utility>

#include "weft/base/utf8.h"

namespace weft::market {
namespace {

constexpr const char* kGenesisKind = "genesis";
constexpr const char* kBlockKind = "block";
constexpr std::int64_t kMicroseconds = 1'000'000;

std::string key_of(const Block& block) {
  return fmt::format("block {}", block.height);
}

// All that jobs of the market wait for.
std::set<Condition> awaited(const State& state) {
  std::set<Condition> conditions;
  for (const std::int64_t number : state.live_jobs) {
    const Job& job = entry(state.jobs, number, "job");
    for (const auto* list : {&job.needs, &job.pays_when}) {
      for (const Condition& condition : *list) {
        if (std::ranges::find(job.met, condition) == job.met.end()) {
          conditions.insert(condition);
        }
      }
    }
  }
  return conditions;
}

// `find` looks a record up by book and key.
template <class Find>
std::vector<Condition> met_of(const State& state, Find&& find) {
  std::vector<Condition> met;
  for (const Condition& condition : awaited(state)) {
    const std::optional<LedgerRecord> record =
        find(condition.book, condition.key);
    if (record && record->kind == condition.kind) met.push_back(condition);
  }
  return met;
}

// Whether it does anything but tell the time.
bool changes_anything(const Draft& draft) {
  return !draft.block.transactions.empty() || !draft.notes.empty() ||
         !draft.block.met.empty();
}

void require_begun(const MarketState& state, const std::string& location) {
  if (!state.has_begun()) {
    throw Error(ErrorCode::kUnavailable, location, "has no market")
        .hint("weft market begin makes one");
  }
}

}  // namespace

void MarketState::apply(const LedgerRecord& record) {
  try {
    if (record.kind == kGenesisKind) {
      if (has_begun_) {
        throw Error(ErrorCode::kDataLoss, "genesis", "the market has one");
      }
      state_ = beginning_of(record.body);
      has_begun_ = true;
    } else if (record.kind == kBlockKind) {
      if (expected_->draft != nullptr && expected_->body == record.body &&
          expected_->draft->block.previous == state_.root) {
        state_ = expected_->draft->state;
        return;
      }
      const Block block = parse_block(record.body);
      if (!state_.genesis.validators.empty() &&
          count_signatures(state_.genesis, block) < state_.genesis.majority()) {
        throw Error(ErrorCode::kInvalidArgument, key_of(block),
                    "is not signed by a majority of the validators");
      }
      std::vector<std::string> notes;
      apply_block(state_, block, notes);
    } else {
      throw Error(ErrorCode::kDataLoss, record.kind,
                  "is no kind of record that a market has");
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) throw;
    throw Error(ErrorCode::kDataLoss, fmt::format("record {}", record.sequence),
                "is nothing that the market has done: {}: {}", error.where(),
                error.message());
  }
}

void MarketState::expect(std::shared_ptr<const Draft> draft) const {
  expected_->body = draft == nullptr ? std::string() : to_json(draft->block);
  expected_->draft = std::move(draft);
}

void Market::begin(Ledger& ledger, const Genesis& genesis) {
  if (!is_utf8(genesis.name)) {
    throw Error(ErrorCode::kInvalidArgument, "genesis",
                "the name of the market is no UTF-8 text");
  }
  const std::string text = to_json(genesis);
  parse_genesis(text);
  Book<MarketState> book(ledger, kMarketBook);
  book.transact([&](BookWriter<MarketState>& writer) {
    if (writer.state().has_begun()) {
      throw Error(ErrorCode::kInvalidArgument, ledger.location(),
                  "has a market already");
    }
    writer.append(kGenesisKind, text, kGenesisKind);
  });
}

Market::Market(Ledger& ledger, std::vector<SigningKey> validators)
    : book_(ledger, kMarketBook), validators_(std::move(validators)) {
  require_begun(book_.current(), ledger.location());
}

const State& Market::current() { return book_.current().state(); }

void Market::check_signatures(const State& state, const Block& block) const {
  if (state.genesis.validators.empty()) return;
  const std::size_t signers = count_signatures(state.genesis, block);
  if (signers < state.genesis.majority()) {
    throw Error(ErrorCode::kInvalidArgument, key_of(block),
                "{} validators have signed it, and {} are a majority", signers,
                state.genesis.majority())
        .hint("weft market replica keeps a market among several machines");
  }
}

Market::Outcome Market::commit(const std::vector<Transaction>& transactions) {
  return book_.transact([&](BookWriter<MarketState>& writer) {
    const State& state = writer.state().state();
    auto drafted = std::make_shared<Draft>(draft_block(
        state, writer.now() / kMicroseconds, transactions,
        met_of(state, [&](const std::string& book, const std::string& key) {
          return writer.find(book, key);
        })));
    Outcome outcome{.height = state.height,
                    .refused = drafted->refused,
                    .notes = drafted->notes};
    if (!changes_anything(*drafted)) return outcome;
    for (const SigningKey& key : validators_) {
      drafted->block.signatures.emplace_back(key.public_key(),
                                             sign_block(key, drafted->block));
    }
    check_signatures(state, drafted->block);
    outcome.height = drafted->block.height;
    writer.state().expect(drafted);
    writer.append(kBlockKind, to_json(drafted->block), key_of(drafted->block));
    return outcome;
  });
}

Draft Market::draft(std::int64_t time,
                    const std::vector<Transaction>& transactions) {
  return draft_block(current(), time, transactions, conditions_met());
}

void Market::append(const Block& block) {
  book_.transact([&](BookWriter<MarketState>& writer) {
    const State& state = writer.state().state();
    if (block.height <= state.height) {
      const auto there = writer.find(kMarketBook, key_of(block));
      if (there && parse_block(there->body).root == block.root) return;
      throw Error(ErrorCode::kInvalidArgument, key_of(block),
                  "another block is in its place");
    }
    check_signatures(state, block);
    // It is applied as any record is, with all checks.
    writer.append(kBlockKind, to_json(block), key_of(block));
  });
}

State replay(Ledger& ledger, const std::function<void(const State&)>& visit) {
  MarketState market;
  std::set<Condition> seen;
  ledger.read(ledger.beginning(), [&](const LedgerRecord& record) {
    if (record.book != kMarketBook) {
      seen.insert({record.book, record.kind, record.key});
      return;
    }
    market.apply(record);
    if (record.kind == kBlockKind) {
      for (const Condition& condition : parse_block(record.body).met) {
        if (seen.contains(condition)) continue;
        throw Error(ErrorCode::kDataLoss, ledger.location(),
                    "record {} says that {} is there, and it is not",
                    record.sequence, to_text(condition));
      }
    }
    if (visit) visit(market.state());
  });
  require_begun(market, ledger.location());
  return market.state();
}

std::vector<Condition> Market::conditions_met() {
  const State& state = current();
  return met_of(state, [&](const std::string& book, const std::string& key) {
    return book_.ledger().store().find(book, key);
  });
}

}  // namespace weft::market
