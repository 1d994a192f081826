// Shares, votes and dividends, as the rules of the association have it.
#include "tests/market/scene.h"

namespace weft::test {
namespace {

using market::Proposal;

TEST(AssociationTest, FounderGetsSymbolicSharesUntilTheFirstShard) {
  MarketScene scene;
  found_database(scene, 100);
  EXPECT_EQ(scene.shares("owner"), 100);
  EXPECT_EQ(scene.association().rules.least_to_propose, 100);
  decide(scene, "owner", shard_of("anna", 40, "a"), {"owner"});
  EXPECT_EQ(scene.shares("owner"), 0);
  EXPECT_EQ(scene.shares("anna"), 40);
  // Forty shares never make a quorum of a hundred.
  EXPECT_TRUE(scene.noted("warning: association 1 has 40 shares"));
  scene.expect_refused("anna", "propose",
                       shard_of("ben", 40, "b").number("association", 1),
                       "100 are needed to propose");
  scene.expect_refused("anna", "rules",
                       said()
                           .number("association", 1)
                           .number("quorum", 40)
                           .number("debate", 60)
                           .number("least_to_propose", 1),
                       "only the association's owner");
  scene.send("owner", "rules",
             said()
                 .number("association", 1)
                 .number("quorum", 40)
                 .number("debate", 60)
                 .number("least_to_propose", 1));
  decide(scene, "anna", shard_of("ben", 60, "b"), {"anna"});
  EXPECT_EQ(scene.shares("ben"), 60);
  EXPECT_FALSE(scene.noted("warning"));
}

TEST(AssociationTest, SymbolicSharesThatWereGivenAwayAreBurntToo) {
  MarketScene scene;
  found_database(scene, 100);
  scene.send(
      "owner", "transfer_shares",
      said().number("association", 1).who("to", "friend").number("shares", 30));
  SaidFields payload = shard_of("anna", 200, "a");
  SaidFields proposal = payload;
  scene.expect_refused("owner", "propose", proposal.number("association", 1),
                       "70 shares are held");
  scene.send(
      "friend", "transfer_shares",
      said().number("association", 1).who("to", "owner").number("shares", 30));
  scene.send("owner", "propose", proposal);
  scene.send("owner", "vote", vote_of(2, true));
  scene.wait(60);
  scene.send(
      "owner", "transfer_shares",
      said().number("association", 1).who("to", "friend").number("shares", 30));
  scene.send("anyone", "execute", payload.number("proposal", 2));
  EXPECT_EQ(scene.shares("owner") + scene.shares("friend"), 0);
  EXPECT_EQ(scene.association().current().supply, 200);
}

// Somebody may be paid once for a shard, and the holders have what it earns.
TEST(AssociationTest, PaysOnceForAShardWhereThatIsAgreed) {
  MarketScene scene;
  found_database(scene, 100);
  decide(scene, "owner", shard_of("anna", 100, "a"), {"owner"});
  SaidFields bought = shard_of("ben", 0, "b").number("money", 300);
  scene.expect_refused("anna", "propose", bought.number("association", 1),
                       "the treasury has 0, less than 300");
  scene.send("treasurer", "deposit",
             said().who("to", "anna").number("amount", 500));
  scene.send("anna", "fund",
             said().number("association", 1).number("amount", 500));
  decide(scene, "anna", shard_of("ben", 0, "b").number("money", 300), {"anna"});
  EXPECT_TRUE(scene.noted("is paid 300 for it, once"));
  EXPECT_EQ(scene.balance("ben"), 300);
  EXPECT_EQ(scene.shares("ben"), 0);
  EXPECT_EQ(scene.association().treasury, 200);
  EXPECT_EQ(scene.association().current().supply, 100);
  market::check_money(scene.state);
  // What was decided is what is done: another sum is another payload.
  SaidFields again = shard_of("ben", 0, "c").number("money", 200);
  SaidFields proposal = again;
  scene.send("anna", "propose", proposal.number("association", 1));
  const std::int64_t number = std::ssize(scene.state.proposals);
  scene.send("anna", "vote", vote_of(number, true));
  scene.wait(60);
  SaidFields dearer = shard_of("ben", 0, "c").number("money", 199);
  scene.expect_refused("anna", "execute", dearer.number("proposal", number),
                       "");
  scene.send("anna", "execute", again.number("proposal", number));
  EXPECT_EQ(scene.association().treasury, 0);
}

// Anna has 99 shares, Ben 99 and Clara 2, of a quorum of 100.
MarketScene three_holders() {
  MarketScene scene;
  found_database(scene, 100);
  decide(scene, "owner", shard_of("anna", 200, "a"), {"owner"});
  scene.send(
      "anna", "transfer_shares",
      said().number("association", 1).who("to", "ben").number("shares", 99));
  scene.send(
      "anna", "transfer_shares",
      said().number("association", 1).who("to", "clara").number("shares", 2));
  scene.send("owner", "rules",
             said()
                 .number("association", 1)
                 .number("quorum", 100)
                 .number("debate", 60)
                 .number("least_to_propose", 1));
  scene.send("anna", "propose",
             shard_of("dora", 10, "d").number("association", 1));
  return scene;
}

SaidFields third_execution() {
  return shard_of("dora", 10, "d").number("proposal", 3);
}

const Proposal& third(const MarketScene& scene) {
  return scene.state.proposals.at(2);
}

TEST(VoteTest, EqualVotesFail) {
  MarketScene scene = three_holders();
  scene.send("anna", "vote", vote_of(3, true));
  scene.send("ben", "vote", vote_of(3, false));
  scene.expect_refused("anna", "execute", third_execution(),
                       "the deadline of the proposal is not over");
  scene.wait(60);
  EXPECT_EQ(third(scene).tally->margin(), 0);
  EXPECT_EQ(third(scene).state, Proposal::State::kFailed);
  scene.expect_refused("anna", "execute", third_execution(),
                       "the proposal has failed");
}

TEST(VoteTest, OneShareBelowTheQuorumFails) {
  MarketScene scene = three_holders();
  scene.send("anna", "vote", vote_of(3, true));
  scene.wait(60);
  EXPECT_EQ(third(scene).tally->quorum(), 99);
  EXPECT_EQ(third(scene).state, Proposal::State::kFailed);
}

TEST(VoteTest, MoreAgainstIsANegativeMargin) {
  MarketScene scene = three_holders();
  scene.send("clara", "vote", vote_of(3, true));
  scene.send("ben", "vote", vote_of(3, false));
  scene.wait(60);
  EXPECT_EQ(third(scene).tally->margin(), -97);
  EXPECT_TRUE(scene.noted("-97 more for it"));
}

TEST(VoteTest, PassesOnceWithWhatWasProposed) {
  MarketScene scene = three_holders();
  scene.send("anna", "vote", vote_of(3, true));
  scene.send("clara", "vote", vote_of(3, true));
  scene.wait(60);
  scene.expect_refused("anna", "execute",
                       shard_of("dora", 1000, "d").number("proposal", 3),
                       "this is not what was proposed");
  scene.send("anyone", "execute", third_execution());
  EXPECT_EQ(scene.shares("dora"), 10);
  scene.expect_refused("anyone", "execute", third_execution(),
                       "executed already");
}

TEST(VoteTest, CountsEachHolderOnceAndNobodyElse) {
  MarketScene scene = three_holders();
  scene.send("anna", "vote", vote_of(3, true));
  scene.expect_refused("anna", "vote", vote_of(3, false), "has voted already");
  scene.expect_refused("owner", "vote", vote_of(3, true), "holds no share");
  scene.wait(60);
  scene.expect_refused("clara", "vote", vote_of(3, true), "told already");
  scene.expect_refused("clara", "vote", vote_of(9, true), "no proposal 9");
}

TEST(VoteTest, WeighsSharesAtTheDeadline) {
  MarketScene scene = three_holders();
  scene.send("anna", "vote", vote_of(3, true));
  scene.send("clara", "vote", vote_of(3, true));
  // Before the deadline shares take their weight with them …
  scene.time += 59;
  scene.send(
      "clara", "transfer_shares",
      said().number("association", 1).who("to", "anna").number("shares", 1));
  // … and at it or later they do not, even in the block that tells the vote.
  scene.time += 1;
  scene.send(
      "anna", "transfer_shares",
      said().number("association", 1).who("to", "ben").number("shares", 100));
  EXPECT_EQ(third(scene).tally->yea, 101);
  scene.send("anyone", "execute", third_execution());
}

TEST(VoteTest, ZeroQuorumIsOne) {
  MarketScene scene;
  scene.send("owner", "found",
             said().text("name", "x").number("quorum", 0).number("debate", 0));
  EXPECT_EQ(scene.association().rules.quorum, 1);
  EXPECT_EQ(scene.shares("owner"), 1);
}

TEST(DividendTest, HandCase) {
  market::Association association;
  association.mint(MarketScene::account("A"), 100);
  association.mint(MarketScene::account("B"), 300);
  const std::int64_t period = association.begin_job();
  association.pay(period, 1001);
  association.end_job(period);
  association.settle();
  EXPECT_EQ(association.owed.at(MarketScene::account("A")), 250);
  EXPECT_EQ(association.owed.at(MarketScene::account("B")), 751);
}

TEST(DividendTest, GoToWhoHeldSharesWhenTheJobBegan) {
  market::Association association;
  const auto anna = MarketScene::account("anna");
  const auto ben = MarketScene::account("ben");
  association.mint(anna, 10);
  const std::int64_t early = association.begin_job();
  association.transfer(anna, ben, 10);
  const std::int64_t late = association.begin_job();
  EXPECT_NE(early, late);
  association.pay(early, 70);
  association.pay(late, 7);
  association.end_job(early);
  EXPECT_EQ(association.money(), 77);
  association.settle();
  EXPECT_EQ(association.owed.at(anna), 70);
  EXPECT_EQ(association.owed.at(ben), 7);
  EXPECT_EQ(association.periods.size(), 1u);
}

TEST(DividendTest, AreExactHoweverSharesMove) {
  market::Association association;
  std::uint64_t random = 1;
  const auto next = [&random](std::uint64_t below) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((random >> 33) % below);
  };
  std::vector<market::PublicKey> people;
  for (int i = 0; i < 7; ++i) {
    people.push_back(MarketScene::account("holder " + std::to_string(i)));
    association.mint(people.back(), 1 + next(1000));
  }
  market::Amount paid = 0;
  std::vector<std::int64_t> open;
  for (int i = 0; i < 3000; ++i) {
    const auto& from = people[static_cast<std::size_t>(next(7))];
    association.transfer(
        from, people[static_cast<std::size_t>(next(7))],
        next(static_cast<std::uint64_t>(association.shares_of(from) + 1)));
    if (open.size() < 5) open.push_back(association.begin_job());
    const auto which = static_cast<std::size_t>(next(open.size()));
    const market::Amount dividend = next(100'000);
    association.pay(open[which], dividend);
    paid += dividend;
    association.end_job(open[which]);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
    if (i % 10 == 0) association.settle();
    ASSERT_EQ(association.money(), paid);
  }
  for (const std::int64_t period : open) association.end_job(period);
  association.settle();
  market::Amount owed = 0;
  for (const auto& [who, amount] : association.owed) owed += amount;
  EXPECT_EQ(owed, paid);
  EXPECT_LE(association.periods.size(), 1u);
}

TEST(TreasuryTest, PaysWhatWasDecidedAndIsThere) {
  MarketScene scene;
  scene.send("treasurer", "deposit", deposit_of("rich", 50));
  found_database(scene, 1);
  scene.send("rich", "fund",
             said().number("association", 1).number("amount", 50));
  const SaidFields payment =
      said().text("kind", "payment").who("recipient", "poor");
  scene.expect_refused(
      "owner", "propose",
      SaidFields(payment).number("amount", 51).number("association", 1),
      "the treasury has 50");
  scene.expect_refused("owner", "propose",
                       said()
                           .text("kind", "payment")
                           .number("amount", 30)
                           .number("association", 1),
                       "a payment has no 'recipient'");
  decide(scene, "owner", SaidFields(payment).number("amount", 30), {"owner"});
  EXPECT_EQ(scene.balance("poor"), 30);
  EXPECT_EQ(scene.association().treasury, 20);
}

TEST(ShardTest, IsThereOnce) {
  MarketScene scene;
  found_database(scene, 1);
  decide(scene, "owner", shard_of("anna", 5, "a"), {"owner"});
  scene.expect_refused("anna", "propose",
                       shard_of("anna", 5, "a").number("association", 1),
                       "nobody is paid for them twice");
  scene.expect_refused("anna", "propose",
                       shard_of("anna", 5, "b", 0).number("association", 1),
                       "no example");
  const market::PublicKey nobody{};
  for (const char* name : {"recipient", "content"}) {
    scene.expect_refused(
        "anna", "propose",
        shard_of("anna", 5, "b").number("association", 1).key(name, nobody),
        std::string("a shard has no '") + name);
  }
}

TEST(ModelTest, IsActivatedByACheckerAlone) {
  MarketScene scene;
  found_database(scene, 1);
  const SaidFields model = said()
                               .number("database", 1)
                               .text("title", "cnn")
                               .digest("description", "d")
                               .digest("content", "m")
                               .digest("extractor", "e");
  scene.send("maker", "submit_model", model);
  scene.send("checker", "submit_model", model);
  const SaidFields yes = said().number("model", 1).flag("approve", true);
  scene.expect_refused("maker", "check_model", yes, "is no checker");
  scene.expect_refused("checker", "check_model",
                       said().number("model", 2).flag("approve", true),
                       "their own model");
  EXPECT_FALSE(scene.state.models[0].is_active);
  scene.send("checker", "check_model", yes);
  EXPECT_TRUE(scene.state.models[0].is_active);
}

}  // namespace
}  // namespace weft::test
