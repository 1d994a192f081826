// Blocks: what is signed, in which order, and that nothing of it can be
// changed.
#include "tests/market/scene.h"
#include "tests/support/temporary_folder.h"

#include "weft/market/market.h"

namespace weft::test {
namespace {

using market::Market;
using market::Transaction;

TEST(TransactionTest, IsTakenOnceAndInOrder) {
  MarketScene scene;
  const Transaction first =
      scene.make("treasurer", "deposit", deposit_of("anna", 5));
  scene.apply({first});
  EXPECT_EQ(scene.balance("anna"), 5);
  market::Draft again = market::draft_block(scene.state, scene.time, {first});
  ASSERT_EQ(again.refused.size(), 1u);
  EXPECT_NE(again.refused[0].why.find("applied already"), std::string::npos);
  // The one after the next comes too early.
  const Transaction late =
      market::make_transaction(key_named("treasurer"), scene.state.market, 2,
                               "deposit", deposit_of("anna", 5));
  again = market::draft_block(scene.state, scene.time, {late});
  EXPECT_NE(again.refused[0].why.find("is missing"), std::string::npos);
}

TEST(TransactionTest, IsOfItsAccountAndItsMarket) {
  MarketScene scene;
  Transaction forged = scene.make("treasurer", "deposit", deposit_of("eve", 5));
  const std::string honest = forged.text;
  const auto amount = forged.text.find("\"amount\":5");
  forged.text.replace(amount, 10, "\"amount\":9");
  const auto refusal_of = [&](const Transaction& transaction) {
    const auto draft =
        market::draft_block(scene.state, scene.time, {transaction});
    return draft.refused.empty() ? std::string() : draft.refused[0].why;
  };
  EXPECT_NE(refusal_of(forged).find("not signed by its account"),
            std::string::npos);
  forged.text = honest;
  EXPECT_EQ(refusal_of(forged), "");
  for (std::size_t i = 0; i < forged.signature.size(); ++i) {
    Transaction flipped = forged;
    flipped.signature[i] ^= 1;
    EXPECT_NE(refusal_of(flipped).find("not signed"), std::string::npos) << i;
  }
  const Transaction elsewhere = market::make_transaction(
      key_named("treasurer"), MarketScene::digest("another market"), 0,
      "deposit", deposit_of("eve", 5));
  EXPECT_NE(refusal_of(elsewhere).find("of another market"), std::string::npos);
  scene.expect_refused("eve", "deposit", deposit_of("eve", 5),
                       "only the treasurer");
}

TEST(TransactionTest, RefusesWhatItsKindHasNot) {
  const std::string head = R"({"market":")" + std::string(64, '0') +
                           R"(","account":")" + std::string(64, '0') +
                           R"(","nonce":0,"do":"cash_out")";
  EXPECT_EQ(
      market::parse_request(head + R"(,"amount":3})").fields.number("amount"),
      3);
  for (const char* rest :
       {"}", R"(,"amount":-3})", R"(,"amount":"3"})", R"(,"amount":3.5})",
        R"(,"amount":9007199254740992})", R"(,"amount":1e3})",
        R"(,"amount":3,"more":4})", R"(,"amount":[3]})", ""}) {
    expect_error(ErrorCode::kInvalidArgument, {},
                 [&] { market::parse_request(head + rest); });
  }
  expect_error(ErrorCode::kInvalidArgument, {"16384"}, [&] {
    market::parse_request(head + std::string(20'000, ' ') + "}");
  });
}

TEST(TransactionTest, TakesUtf8Alone) {
  for (const auto kind :
       {market::FieldKind::kText, market::FieldKind::kTexts}) {
    const market::FieldSpec spec{.name = "title", .kind = kind, .summary = ""};
    EXPECT_NO_THROW(market::field_from_words(spec, "gr\xc3\xbcn"));
    expect_error(ErrorCode::kInvalidArgument, {"title", "no UTF-8"},
                 [&] { market::field_from_words(spec, "gr\xfcn"); });
  }
}

TEST(MoneyTest, ComesAndGoesByRuleAlone) {
  MarketScene scene;
  scene.send("treasurer", "deposit",
             deposit_of("anna", market::kMostAmount - 1));
  scene.expect_refused("treasurer", "deposit", deposit_of("ben", 2),
                       "the money");
  scene.expect_refused("ben", "transfer",
                       said().who("to", "anna").number("amount", 1),
                       "less than 1");
  scene.send("anna", "cash_out", said().number("amount", 1000));
  EXPECT_EQ(scene.state.money, market::kMostAmount - 1001);
  scene.send("treasurer", "deposit", deposit_of("ben", 2));
  // A transfer to oneself makes nothing.
  scene.send("ben", "transfer", said().who("to", "ben").number("amount", 2));
  EXPECT_EQ(scene.balance("ben"), 2);
}

TEST(BlockTest, AnyBitOfItDecidesTheRoot) {
  MarketScene scene;
  scene.send("treasurer", "deposit", deposit_of("anna", 5));
  const market::State before = scene.state;
  scene.apply({scene.make("anna", "transfer",
                          said().who("to", "ben").number("amount", 2))});
  const std::string text = market::to_json(scene.blocks.back());
  int refused = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string flipped = text;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    market::State state = before;
    std::vector<std::string> ignored;
    try {
      market::apply_block(state, market::parse_block(flipped), ignored);
      // A name of a member that nobody reads may go; what counts may not.
      EXPECT_EQ(state.root, scene.state.root) << flipped;
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, static_cast<int>(text.size()) - 80);
}

TEST(BlockTest, FitsIntoARecordHoweverMuchIsSent) {
  MarketScene scene;
  std::vector<market::Transaction> many;
  // Texts of quotes, which take twice as much room in a record.
  const SaidFields wordy = said()
                               .text("name", std::string(1000, '"'))
                               .number("quorum", 1)
                               .number("debate", 1);
  for (std::int64_t i = 0; i < 2500; ++i) {
    many.push_back(market::make_transaction(
        key_named("owner"), scene.state.market, i, "found", wordy));
  }
  const market::Draft draft =
      market::draft_block(scene.state, scene.time, many);
  EXPECT_FALSE(draft.refused.empty());
  EXPECT_NE(draft.refused[0].why.find("the block is full"), std::string::npos);
  EXPECT_GT(draft.block.transactions.size(), 1000u);
  EXPECT_LE(market::to_json(draft.block).size(), kMostBodyBytes);
}

TEST(BlockTest, TimeDoesNotGoBack) {
  MarketScene scene;
  scene.send("treasurer", "deposit", deposit_of("anna", 5));
  market::Draft draft = market::draft_block(scene.state, 0, {});
  EXPECT_EQ(draft.block.time, scene.state.time);
  draft.block.time -= 1;
  std::vector<std::string> ignored;
  expect_error(ErrorCode::kInvalidArgument, {"in front of it"},
               [&] { market::apply_block(scene.state, draft.block, ignored); });
}

class MarketBook : public testing::Test {
 protected:
  std::string location() const { return (folder_.path() / "m.db").string(); }
  Ledger opened() { return Ledger::open(location(), LedgerMode::kCreate); }
  Transaction made(Market& market, const std::string& who,
                   std::string_view what, const market::Fields& fields) {
    const auto& accounts = market.current().accounts;
    const auto found = accounts.find(MarketScene::account(who));
    return market::make_transaction(
        key_named(who), market.current().market,
        found == accounts.end() ? 0 : found->second.nonce, what, fields);
  }
  TemporaryFolder folder_;
};

TEST_F(MarketBook, IsTheSameForWhoeverOpensIt) {
  Ledger ledger = opened();
  Market::begin(ledger, MarketScene::usual());
  expect_error(ErrorCode::kInvalidArgument, {"has a market already"},
               [&] { Market::begin(ledger, MarketScene::usual()); });
  Market first(ledger);
  Ledger another = opened();
  Market second(another);
  for (int i = 0; i < 4; ++i) {
    Market& market = i % 2 == 0 ? first : second;
    const auto outcome = market.commit(
        {made(market, "treasurer", "deposit", deposit_of("anna", 10))});
    EXPECT_EQ(outcome.height, i + 1);
    EXPECT_TRUE(outcome.refused.empty());
  }
  EXPECT_EQ(first.current().balance_of(MarketScene::account("anna")), 40);
  EXPECT_EQ(first.current().root, second.current().root);
  Ledger third = opened();
  EXPECT_EQ(Market(third).current().root, first.current().root);
  // A block of nothing is none.
  EXPECT_EQ(first.commit({}).height, 4);
}

TEST_F(MarketBook, RefusesBlocksThatFewHaveSigned) {
  market::Genesis genesis = MarketScene::usual();
  genesis.validators = {MarketScene::account("v1"), MarketScene::account("v2"),
                        MarketScene::account("v3")};
  Ledger ledger = opened();
  Market::begin(ledger, genesis);
  Market alone(ledger, {key_named("v1")});
  expect_error(
      ErrorCode::kInvalidArgument, {"1 validators have signed it"}, [&] {
        alone.commit(
            {made(alone, "treasurer", "deposit", deposit_of("anna", 10))});
      });
  Market stranger(ledger, {key_named("v1"), key_named("eve")});
  expect_error(ErrorCode::kInvalidArgument, {"no validator"}, [&] {
    stranger.commit(
        {made(stranger, "treasurer", "deposit", deposit_of("anna", 10))});
  });
  Market twice(ledger, {key_named("v1"), key_named("v1")});
  EXPECT_THROW(twice.commit({made(twice, "treasurer", "deposit",
                                  deposit_of("anna", 10))}),
               Error);
  Market majority(ledger, {key_named("v1"), key_named("v3")});
  EXPECT_EQ(majority
                .commit({made(majority, "treasurer", "deposit",
                              deposit_of("anna", 10))})
                .height,
            1);
  EXPECT_EQ(alone.current().balance_of(MarketScene::account("anna")), 10);
}

TEST_F(MarketBook, RefusesARecordThatSomebodyWroteBesideIt) {
  Ledger ledger = opened();
  Market::begin(ledger, MarketScene::usual());
  MarketScene other;
  other.send("treasurer", "deposit", deposit_of("anna", 10));
  market::Block forged = other.blocks[0];
  forged.root[0] ^= 1;
  ledger.transact([&](LedgerWriter& writer) {
    writer.append({"market", "block", market::to_json(forged), "block 1"});
  });
  expect_error(ErrorCode::kDataLoss, {"root", "record 2"},
               [&] { Market{ledger}; });
}

}  // namespace
}  // namespace weft::test
