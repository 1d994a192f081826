// A gate in a ledger that others write to, and its file.
#include <thread>

#include "tests/gate/fixture.h"

namespace weft::gate_ledger_test {
namespace {

using namespace test;

class GateLedger : public test::GateFixture {};

TEST_F(GateLedger, KeepsToWhatTheOwnerBeganWith) {
  Gate floor = gate(kFloor);
  floor.init("", false);
  floor.submit(model(0.5), 0);
  const std::string lower = "condition = 'n > 0.1 +/- 0.1'\nsteps = 3\n";
  Gate other = gate(lower);
  expect_error(ErrorCode::kInvalidArgument, {"otherwise", "condition"},
               [&] { other.submit(model(0.5), 0); });
  expect_error(ErrorCode::kInvalidArgument, {"2 more verdicts"},
               [&] { other.init("", false); });
  other.init("", true);
  EXPECT_EQ(other.state().life->uses_left(), 3);
  EXPECT_EQ(other.submit(model(0.5), 0), GateAnswer::kPassed);
  EXPECT_EQ(kinds(other),
            (std::vector<std::string>{"init", "submit", "verdict", "end",
                                      "init", "submit", "verdict"}));
  EXPECT_NE(ledger_text(other).find("\"why\":\"replaced\""), std::string::npos);
}

TEST_F(GateLedger, SaysThatAnotherLifeBeganMeanwhile) {
  folder_.write("label.sh", "exit 1\n");
  const std::string more =
      std::string(kGain) + "labels = 'command([\"sh\", \"label.sh\"])'\n";
  Gate asking = gate(more, "unlabelled.csv");
  asking.init(model(0.5), false);
  EXPECT_THROW(asking.submit(model(0.7), 0), Error);
  // While a program labels, the owner begins anew.
  folder_.write("label.sh",
                "touch asked; while [ ! -f go ]; do :; done\n"
                "echo id,label; sed 's/$/,none/'\n");
  std::jthread owner([&] {
    while (!std::filesystem::exists(folder_ / "asked")) {
    }
    Gate(file(more, "unlabelled.csv"), LedgerMode::kOpen).init("", true);
    folder_.write("go", "");
  });
  expect_error(ErrorCode::kUnavailable, {"began with another test set"},
               [&] { asking.submit(model(0.7), 0); });
  EXPECT_EQ(asking.state().life->uses_left(), 3);
}

TEST_F(GateLedger, SpendsEachUseOnce) {
  const std::string more = "condition = 'n > 0.7 +/- 0.1'\nsteps = 6\n";
  gate(more).init("", false);
  std::vector<std::filesystem::path> models;
  for (int i = 0; i < 8; ++i) models.push_back(model(0.5 + 0.01 * i));
  std::atomic<int> judged{0};
  std::atomic<int> refused{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        Gate mine(file(more), LedgerMode::kOpen);
        try {
          mine.submit(models[static_cast<std::size_t>(i)], 60);
          ++judged;
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find("used up"),
                    std::string::npos);
          ++refused;
        }
      });
    }
  }
  EXPECT_EQ(judged, 6);
  EXPECT_EQ(refused, 2);
  Gate after(file(more), LedgerMode::kOpen);
  EXPECT_EQ(after.state().life->submissions.size(), 6u);
  EXPECT_EQ(after.state().life->end, GateEnd::kSteps);
}

// --- Gate files ---

TEST_F(GateLedger, SaysWhatIsWrongWithAGateFile) {
  const auto refuse = [&](const std::string& text,
                          std::initializer_list<std::string> parts) {
    expect_error(ErrorCode::kInvalidArgument, parts,
                 [&] { parse_gate_file(text, "gate.toml"); });
  };
  const std::string good =
      "[gate]\ncondition = 'n > 0.9 +/- 0.1'\npoints = 'p.csv'\n";
  EXPECT_EQ(parse_gate_file(good, "a/digits.toml").name, "digits");
  EXPECT_EQ(parse_gate_file(good, "a/digits.toml").ledger, "a/digits.ledger");
  refuse("", {"no section [gate]"});
  refuse("[gate]\npoints = 'p.csv'\n", {"lacks 'gate.condition'"});
  refuse("[gate]\ncondition = 'n > 0.9'\npoints = 'p'\n",
         {"no tolerance", "gate.toml:2"});
  refuse("[gate]\ncondition = 'n > 0.9 +/- 0.1'\n", {"one of them"});
  refuse(good + "recipe = 'r.toml'\n", {"one of them"});
  refuse(good + "mod = 'fp-free'\n", {"did you mean 'gate.mode'"});
  refuse(good + "mode = 'fp'\n", {"gate.mode"});
  refuse(good + "reliability = 1\n", {"gate.reliability", "in (0, 1)"});
  refuse(good + "steps = 0\n", {"gate.steps"});
  refuse(good + "labels = 'oracle'\n", {"oracle", "gate.toml:4"});
  refuse(good + "difference_known = true\n", {"no 'gate.difference'"});
  refuse("[gate\n", {"gate.toml:1"});
  refuse(good + "name = '../../x'\n", {"'../../x'", "gate.toml:4"});
  refuse(good + "name = \"x'; DROP TABLE records\"\n", {"letters"});
}

TEST_F(GateLedger, SharesALedgerWithOthers) {
  const std::string shared = std::string(kFloor) + "ledger = \"books.db\"\n";
  Gate a = gate(shared + "name = \"a\"\n");
  Gate b = gate(shared + "name = \"b\"\n");
  a.init("", false);
  EXPECT_FALSE(b.state().life);
  b.init("", false);
  EXPECT_EQ(a.submit(model(0.95), 0), GateAnswer::kPassed);
  EXPECT_EQ(a.state().life->uses_left(), 2);
  EXPECT_EQ(b.state().life->uses_left(), 3);
}

TEST_F(GateLedger, KeepsItsConfigurationInTheLedger) {
  const GateFile written =
      file(std::string(kGain) +
           "mode = 'fn-free'\nadaptivity = 'none'\ndifference = '10%'\n"
           "difference_known = true\nresults = 'r'\nnotify = ['a', 'b']\n");
  EXPECT_EQ(gate_config_from_json(to_json(written.config)), written.config);
  expect_error(ErrorCode::kDataLoss, {"no configuration"},
               [] { gate_config_from_json("{}"); });
}

TEST(GateState, RefusesRecordsThatNoGateWrote) {
  const auto record = [](const char* kind, const char* body) {
    LedgerRecord record;
    record.book = "gate/x";
    record.kind = kind;
    record.body = body;
    return record;
  };
  for (const LedgerRecord& wrong :
       {record("submit", "{}"), record("init", "no json"), record("init", "{}"),
        record("init", "[]")}) {
    GateState state;
    expect_error(ErrorCode::kDataLoss, {"gate"}, [&] { state.apply(wrong); });
  }
}

}  // namespace
}  // namespace weft::gate_ledger_test
