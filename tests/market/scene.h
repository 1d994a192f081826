// A market without a ledger: people by name, and blocks one after another.
#pragma once

#include <gtest/gtest.h>
#include <map>

#include "tests/support/errors.h"

#include "weft/market/block.h"

namespace weft::test {

inline market::SigningKey key_named(const std::string& name) {
  const market::Digest seed = market::digest_of_bytes("test key of " + name);
  return market::SigningKey(std::span<const std::uint8_t, 32>(seed));
}

class MarketScene {
 public:
  explicit MarketScene(market::Genesis genesis = usual()) {
    state = market::beginning_of(market::to_json(genesis));
  }

  static market::Genesis usual() {
    return {.name = "test",
            .treasurer = account("treasurer"),
            .platform = account("platform"),
            .checkers = {account("checker")},
            .vendors = {account("vendor")},
            .validators = {}};
  }
  static market::PublicKey account(const std::string& name) {
    return key_named(name).public_key();
  }
  static market::Digest digest(const std::string& text) {
    return market::digest_of_bytes(text);
  }

  market::Transaction make(const std::string& who, std::string_view what,
                           const market::Fields& fields) {
    return market::make_transaction(key_named(who), state.market, nonce_of(who),
                                    what, fields);
  }
  std::int64_t nonce_of(const std::string& who) const {
    const auto found = state.accounts.find(account(who));
    return found == state.accounts.end() ? 0 : found->second.nonce;
  }

  // A block of those transactions, all of which must be taken, and replayed
  // from its text with the same root.
  void apply(const std::vector<market::Transaction>& transactions,
             const std::vector<market::Condition>& met = {}) {
    market::Draft draft = market::draft_block(state, time, transactions, met);
    for (const auto& refusal : draft.refused) {
      ADD_FAILURE() << refusal.transaction << ": " << refusal.why;
    }
    notes = draft.notes;
    market::State replayed = state;
    std::vector<std::string> ignored;
    market::apply_block(
        replayed, market::parse_block(market::to_json(draft.block)), ignored);
    EXPECT_EQ(market::to_hex(replayed.root), market::to_hex(draft.state.root));
    blocks.push_back(draft.block);
    state = std::move(draft.state);
  }
  void send(const std::string& who, std::string_view what,
            const market::Fields& fields = {}) {
    apply({make(who, what, fields)});
  }
  void expect_refused(const std::string& who, std::string_view what,
                      const market::Fields& fields, const std::string& why) {
    const market::Digest root = market::root_of(state);
    market::Draft draft =
        market::draft_block(state, time, {make(who, what, fields)});
    ASSERT_EQ(draft.refused.size(), 1u) << "was taken: " << what;
    EXPECT_NE(draft.refused[0].why.find(why), std::string::npos)
        << draft.refused[0].why;
    EXPECT_EQ(market::root_of(state), root);
  }
  void wait(std::int64_t seconds) {
    time += seconds;
    apply({});
  }
  bool noted(const std::string& part) const {
    for (const std::string& note : notes) {
      if (note.find(part) != std::string::npos) return true;
    }
    return false;
  }
  market::Amount balance(const std::string& who) const {
    return state.balance_of(account(who));
  }
  const market::Association& association(std::int64_t number = 1) const {
    return market::entry(state.associations, number, "association");
  }
  market::Amount shares(const std::string& who, std::int64_t number = 1) const {
    return association(number).shares_of(account(who));
  }

  market::State state;
  std::int64_t time = 1000;
  std::vector<std::string> notes;  // of the last block
  std::vector<market::Block> blocks;
};

// "to=alice, amount=5" as fields: keys are names of people, or digests of
// texts.
class SaidFields : public market::Fields {
 public:
  SaidFields& number(const char* name, std::int64_t value) {
    set(name, value);
    return *this;
  }
  SaidFields& text(const char* name, std::string value) {
    set(name, std::move(value));
    return *this;
  }
  SaidFields& flag(const char* name, bool value) {
    set(name, value);
    return *this;
  }
  SaidFields& who(const char* name, const std::string& person) {
    set(name, MarketScene::account(person));
    return *this;
  }
  SaidFields& digest(const char* name, const std::string& text) {
    set(name, MarketScene::digest(text));
    return *this;
  }
  SaidFields& key(const char* name, const market::PublicKey& value) {
    set(name, value);
    return *this;
  }
  template <class T>
  SaidFields& all(const char* name, std::vector<T> values) {
    set(name, std::move(values));
    return *this;
  }
};
inline SaidFields said() { return {}; }

inline SaidFields deposit_of(const std::string& person, std::int64_t amount) {
  return said().who("to", person).number("amount", amount);
}
inline SaidFields vote_of(std::int64_t proposal, bool approve) {
  return said().number("proposal", proposal).flag("approve", approve);
}
inline SaidFields shard_of(const std::string& curator, std::int64_t reward,
                           const std::string& content,
                           std::int64_t examples = 100,
                           std::int64_t database = 1) {
  return said()
      .text("kind", "shard")
      .who("recipient", curator)
      .number("amount", reward)
      .number("database", database)
      .digest("content", content)
      .number("examples", examples);
}

// Proposes, has `voters` approve, waits for the deadline and executes.
inline void decide(MarketScene& scene, const std::string& who,
                   SaidFields payload, const std::vector<std::string>& voters,
                   std::int64_t association = 1) {
  SaidFields proposal = payload;
  scene.send(who, "propose", proposal.number("association", association));
  const std::int64_t number = std::ssize(scene.state.proposals);
  for (const std::string& voter : voters) {
    scene.send(voter, "vote", vote_of(number, true));
  }
  scene.wait(scene.association(association).rules.debate);
  scene.send(who, "execute", payload.number("proposal", number));
}

// Association 1 of the owner with quorum `quorum`, its database 1 at `price`.
inline void found_database(MarketScene& scene, std::int64_t quorum = 100,
                           std::int64_t price = 1000) {
  scene.send("owner", "found",
             said()
                 .text("name", "people")
                 .number("quorum", quorum)
                 .number("debate", 60));
  decide(scene, "owner",
         said()
             .text("kind", "database")
             .text("name", "census")
             .number("price", price),
         {"owner"});
}

}  // namespace weft::test
