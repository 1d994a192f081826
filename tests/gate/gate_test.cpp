// A gate in its ledger: what is spent, told, hidden and refused.
#include "weft/gate/gate.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/stat.h>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/gate/id_table.h"

namespace weft::gate_test {
namespace {

using test::expect_error;
using test::TemporaryFolder;

// Models are so far from what decides that no draw of a set comes near it.
constexpr std::size_t kPool = 2500;

// Points whose labels are told apart from anything else in a file, and models
// that are right where they should be.
class GateTest : public testing::Test {
 protected:
  GateTest() {
    std::vector<std::string> ids;
    std::vector<std::string> labels;
    for (std::size_t i = 0; i < kPool; ++i) {
      ids.push_back("point" + std::to_string(i));
      labels.push_back(label_of(i));
    }
    folder_.write("points.csv", id_table_text(kLabelColumn, ids, labels));
    std::string plain = "id\n";
    for (const std::string& id : ids) plain += id + "\n";
    folder_.write("unlabelled.csv", plain);
    GateKey::make().save(folder_ / "key");
  }

  static std::string label_of(std::size_t point) {
    return point % 2 == 0 ? "hidden-even" : "hidden-odd";
  }

  GateFile file(const std::string& more,
                const std::string& points = "points.csv") {
    return parse_gate_file(
        "[gate]\nkey = \"key\"\nreliability = 0.9\n"
        "points = \"" +
            points + "\"\n" + more,
        folder_ / "gate.toml");
  }
  Gate gate(const std::string& more, const std::string& points = "points.csv") {
    return {file(more, points), LedgerMode::kCreate};
  }

  // Right on the share of points that come first by a hash, so that better
  // models are right wherever worse ones are.
  std::filesystem::path model(double accuracy, const std::string& tag = "") {
    std::vector<std::string> ids;
    std::vector<std::string> says;
    for (std::size_t i = 0; i < kPool; ++i) {
      ids.push_back("point" + std::to_string(i));
      const double place = static_cast<double>(i * 7919 % kPool) / kPool;
      says.push_back(place < accuracy ? label_of(i) : "wrong" + tag);
    }
    return folder_.write(fmt::format("model{}{}.csv", accuracy, tag),
                         id_table_text(kPredictionColumn, ids, says));
  }

  std::string ledger_text(Gate& gate) {
    std::string text;
    Ledger ledger = Ledger::open(gate.file().ledger);
    ledger.read(ledger.beginning(), [&](const LedgerRecord& record) {
      text += record.kind + " " + record.key + " " + record.body + "\n";
    });
    return text;
  }
  std::vector<std::string> kinds(Gate& gate) {
    std::vector<std::string> kinds;
    Ledger ledger = Ledger::open(gate.file().ledger);
    ledger.read(ledger.beginning(), [&](const LedgerRecord& record) {
      kinds.push_back(record.kind);
    });
    return kinds;
  }
  nlohmann::json details(Gate& gate) {
    return nlohmann::json::parse(gate.details().back());
  }

  TemporaryFolder folder_;
};

constexpr const char* kFloor = "condition = 'n > 0.7 +/- 0.1'\nsteps = 3\n";
constexpr const char* kGain =
    "condition = 'n - o > 0.05 +/- 0.1 /\\ d < 0.6 +/- 0.1'\nsteps = 3\n";

TEST_F(GateTest, LetsGoodModelsPass) {
  Gate floor = gate(kFloor);
  floor.init("", false);
  EXPECT_EQ(floor.submit(model(0.95), 0), GateAnswer::kPassed);
  EXPECT_EQ(floor.submit(model(0.6), 0), GateAnswer::kFailed);
  EXPECT_EQ(floor.state().life->uses_left(), 1);
  EXPECT_NEAR(details(floor)["clauses"][0]["estimate"], 0.6, 0.2);
}

TEST_F(GateTest, TellsARepeatedModelWhatItWasTold) {
  Gate floor = gate(kFloor);
  floor.init("", false);
  EXPECT_EQ(floor.submit(model(0.95), 0), GateAnswer::kPassed);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Gate(file(kFloor), LedgerMode::kOpen).submit(model(0.95), 0),
              GateAnswer::kPassed);
  }
  EXPECT_EQ(floor.state().life->uses_left(), 2);
}

TEST_F(GateTest, RefusesWhenTheSetIsUsedUp) {
  Gate floor = gate(kFloor);
  floor.init("", false);
  for (const double accuracy : {0.5, 0.6, 0.95}) {
    floor.submit(model(accuracy), 0);
  }
  EXPECT_EQ(floor.state().life->end, GateEnd::kSteps);
  expect_error(ErrorCode::kInvalidArgument, {"used up by 3 verdicts"},
               [&] { floor.submit(model(0.97), 0); });
  // What was told stays told.
  EXPECT_EQ(floor.submit(model(0.95), 0), GateAnswer::kPassed);
  floor.init("", false);
  EXPECT_EQ(floor.state().life->number, 2);
  EXPECT_EQ(floor.submit(model(0.95), 0), GateAnswer::kPassed);
  EXPECT_EQ(floor.state().life->uses_left(), 2);
}

TEST_F(GateTest, NeverUsesAPointInTwoLives) {
  const char* narrow = "condition = 'n > 0.7 +/- 0.05'\nsteps = 3\n";
  Gate floor = gate(narrow);
  std::set<std::string> released;
  std::size_t points = 0;
  for (int life = 0; life < 3; ++life) {
    floor.init("", false);
    for (const double accuracy : {0.5, 0.55, 0.6}) {
      floor.submit(model(accuracy), 0);
    }
    const std::string text = floor.release();
    EXPECT_EQ(floor.release(), text);
    const IdTable table(records_from_csv(text, "released"), kLabelColumn);
    const Records records = records_from_csv(text, "released");
    points += records.rows();
    for (std::size_t i = 0; i < records.rows(); ++i) {
      released.emplace(records.field(i, 0));
      const std::string id(records.field(i, 0));
      EXPECT_EQ(table.find(id), label_of(std::stoul(id.substr(5))));
    }
  }
  EXPECT_EQ(released.size(), points);
  EXPECT_EQ(points, 3 * static_cast<std::size_t>(
                            plan_gate(file(narrow).config.terms).points));
  // What is left of the pool is too little at some time.
  expect_error(ErrorCode::kUnavailable, {"no verdict has rested on"}, [&] {
    for (int life = 0; life < 20; ++life) {
      floor.init("", false);
      for (const double accuracy : {0.5, 0.55, 0.6}) {
        floor.submit(model(accuracy), 0);
      }
    }
  });
}

TEST_F(GateTest, EndsAtTheFirstPassWhereThatIsAgreed) {
  Gate first = gate(std::string(kFloor) + "adaptivity = \"first-change\"\n");
  first.init("", false);
  EXPECT_EQ(first.submit(model(0.5), 0), GateAnswer::kFailed);
  EXPECT_EQ(first.state().life->end, GateEnd::kNot);
  EXPECT_EQ(first.submit(model(0.95), 0), GateAnswer::kPassed);
  EXPECT_EQ(first.state().life->end, GateEnd::kPass);
  EXPECT_EQ(first.state().life->uses_left(), 0);
  expect_error(ErrorCode::kInvalidArgument, {"a model has passed"},
               [&] { first.submit(model(0.97), 0); });
}

TEST_F(GateTest, KeepsToWhatTheOwnerBeganWith) {
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

TEST_F(GateTest, ComparesWithTheModelThatPassedLast) {
  Gate gain = gate(kGain);
  gain.init(model(0.5), false);
  EXPECT_EQ(gain.submit(model(0.75), 0), GateAnswer::kPassed);
  // It is better than the first one, and no better than the one that passed.
  EXPECT_EQ(gain.submit(model(0.74), 0), GateAnswer::kFailed);
  EXPECT_EQ(gain.submit(model(1.0), 0), GateAnswer::kPassed);
  gain.init("", false);
  EXPECT_EQ(gain.submit(model(0.9), 0), GateAnswer::kFailed);
}

TEST_F(GateTest, JudgesModelsThatDifferMoreThanExpectedOnMorePoints) {
  Gate gain = gate(
      "condition = 'n - o > 0.3 +/- 0.2'\nsteps = 1\ndifference = 0.5\n"
      "adaptivity = \"first-change\"\n");
  const GatePlan plan = plan_gate(gain.file().config.terms);
  ASSERT_GT(plan.clauses[0].points_without, plan.clauses[0].points);
  ASSERT_LT(plan.points_at_best, static_cast<std::int64_t>(kPool));
  gain.init(model(0.2), false);
  EXPECT_EQ(gain.submit(model(0.9), 0), GateAnswer::kPassed);
  EXPECT_EQ(details(gain)["clauses"][0]["points"],
            plan.clauses[0].points_without);
  EXPECT_EQ(details(gain)["labels"], details(gain)["differences"]);
}

TEST_F(GateTest, NeedsAModelToCompareWith) {
  Gate gain = gate(kGain);
  gain.init("", false);
  expect_error(ErrorCode::kInvalidArgument, {"no old model", "--old"},
               [&] { gain.submit(model(0.9), 0); });
  // Nothing was spent.
  EXPECT_EQ(gain.state().life->uses_left(), 3);
}

TEST_F(GateTest, RefusesPredictionsThatDoNotSuit) {
  Gate floor = gate(kFloor);
  floor.init("", false);
  const auto refuse = [&](const std::string& text, ErrorCode code,
                          std::initializer_list<std::string> parts) {
    const auto path = folder_.write("bad.csv", text);
    expect_error(code, parts, [&] { floor.submit(path, 0); });
  };
  const std::string whole = read_text(model(0.95));
  const std::string last = "point2499,";
  const std::size_t line = whole.rfind(last);
  refuse(whole.substr(0, line), ErrorCode::kInvalidArgument,
         {"says nothing of point 'point2499'", "2499 points", "2500"});
  refuse(whole + "point2500,x\n", ErrorCode::kInvalidArgument,
         {"no point 'point2500'"});
  refuse(whole + "point7,x\n", ErrorCode::kDataLoss, {":2502", "twice"});
  refuse(whole.substr(0, line) + last + "NaN\n", ErrorCode::kDataLoss,
         {"missing"});
  refuse(whole.substr(0, line) + last + "\xff\n", ErrorCode::kDataLoss,
         {"UTF-8"});
  refuse("point,prediction\npoint0,x\n", ErrorCode::kInvalidArgument,
         {"no column 'id'"});
  EXPECT_EQ(floor.state().life->uses_left(), 3);

  // The order of lines says nothing.
  std::string reversed;
  std::size_t end = whole.size();
  while (end > 0) {
    const std::size_t begin = whole.rfind('\n', end - 2) + 1;
    if (begin == 0) break;
    reversed += whole.substr(begin, end - begin);
    end = begin;
  }
  const auto path = folder_.write("reversed.csv", "id,prediction\n" + reversed);
  EXPECT_EQ(floor.submit(path, 0), GateAnswer::kPassed);
}

TEST_F(GateTest, RefusesPointsThatComeTwice) {
  folder_.write("twice.csv", "id,label\na,x\nb,y\na,x\n");
  Gate twice = gate(kFloor, "twice.csv");
  expect_error(ErrorCode::kDataLoss, {"twice.csv:4", "'a' comes twice"},
               [&] { twice.init("", false); });
}

// --- Labels ---

TEST_F(GateTest, AsksPeopleWhereModelsDiffer) {
  const std::string more =
      std::string(kGain) + "labels = 'folder(\"requests\")'\n";
  Gate asking = gate(more, "unlabelled.csv");
  asking.init(model(0.5), false);
  EXPECT_EQ(asking.submit(model(0.7), 0), GateAnswer::kWaiting);
  const auto request = folder_ / "requests" / "gate-1-1.request.csv";
  const Records asked = read_records(request);
  std::string answer = "id,label\n";
  for (std::size_t i = 0; i < asked.rows(); ++i) {
    const std::string id(asked.field(i, 0));
    const std::size_t point = std::stoul(id.substr(5));
    const double place = static_cast<double>(point * 7919 % kPool) / kPool;
    EXPECT_TRUE(place >= 0.5 && place < 0.7) << id;
    answer += id + "," + label_of(point) + "\n";
  }
  EXPECT_LT(
      asked.rows(),
      0.3 * static_cast<double>(plan_gate(asking.file().config.terms).points));
  // Others wait, and half an answer is none.
  expect_error(ErrorCode::kUnavailable, {"waits for its labels"},
               [&] { asking.submit(model(0.9), 0); });
  const auto answers = folder_ / "requests" / "gate-1-1.labels.csv";
  write_file(answers, answer.substr(0, answer.find('\n', 60) + 1));
  EXPECT_EQ(asking.proceed(), GateAnswer::kWaiting);
  write_file(answers, answer);
  EXPECT_EQ(asking.proceed(), GateAnswer::kPassed);
  EXPECT_EQ(asking.proceed(), std::nullopt);
  // Labels that are known are not asked for again.
  EXPECT_EQ(asking.submit(model(0.6), 0), GateAnswer::kWaiting);
  EXPECT_FALSE(
      std::filesystem::exists(folder_ / "requests" / "gate-1-2.request.csv"));
  EXPECT_EQ(asking.submit(model(0.6), 0), GateAnswer::kFailed);
  EXPECT_EQ(asking.state().life->labels.size(), 2u);
}

// Whether a label was missing would say something of the set.
TEST_F(GateTest, AlwaysWaitsForPeople) {
  Gate asking = gate(std::string(kGain) + "labels = 'folder(\"requests\")'\n",
                     "unlabelled.csv");
  asking.init(model(0.5), false);
  // They agree everywhere, so that there is nothing to ask.
  EXPECT_EQ(asking.submit(model(0.5), 0), GateAnswer::kWaiting);
  EXPECT_EQ(asking.submit(model(0.5), 0), GateAnswer::kFailed);
}

TEST_F(GateTest, AsksAProgram) {
  folder_.write(
      "label.sh",
      "while read -r id; do n=${id#point};\n"
      "if [ $((n % 2)) = 0 ]; then l=hidden-even; else "
      "l=hidden-odd; fi; echo \"$id,$l\"; done | sed '1i id,label'\n");
  Gate asking =
      gate(std::string(kGain) + "labels = 'command([\"sh\", \"label.sh\"])'\n",
           "unlabelled.csv");
  asking.init(model(0.5), false);
  EXPECT_EQ(asking.submit(model(0.7), 0), GateAnswer::kPassed);
  EXPECT_EQ(asking.submit(model(0.71), 0), GateAnswer::kFailed);
}

TEST_F(GateTest, GoesOnAfterAProgramThatFailed) {
  Gate asking =
      gate(std::string(kGain) + "labels = 'command([\"sh\", \"label.sh\"])'\n",
           "unlabelled.csv");
  asking.init(model(0.5), false);
  folder_.write("label.sh", "echo no money >&2; exit 3\n");
  expect_error(ErrorCode::kUnavailable, {"sh", "failed with 3", "no money"},
               [&] { asking.submit(model(0.7), 0); });
  EXPECT_EQ(asking.state().life->uses_left(), 2);
  folder_.write("label.sh", "echo id,label; sed 's/$/,none/'\n");
  EXPECT_EQ(asking.submit(model(0.7), 0), GateAnswer::kFailed);
  EXPECT_EQ(asking.state().life->uses_left(), 2);
}

TEST_F(GateTest, RefusesLabelsThatAreNotThere) {
  Gate beside = gate(kFloor, "unlabelled.csv");
  expect_error(ErrorCode::kInvalidArgument, {"no labels stand beside"},
               [&] { beside.init("", false); });
  folder_.write("few.csv", "id,label\npoint0,x\n");
  Gate few = gate(std::string(kFloor) + "labels = 'file(\"few.csv\")'\n",
                  "unlabelled.csv");
  few.init("", false);
  expect_error(ErrorCode::kUnavailable, {"lacks the label"},
               [&] { few.submit(model(0.9), 0); });
}

// --- Who may know what ---

TEST_F(GateTest, HidesWhatDevelopersMustNotRead) {
  Gate gain = gate(kGain);
  gain.init(model(0.5), false);
  gain.submit(model(0.75), 0);
  gain.submit(model(0.6), 0);
  const std::string text = ledger_text(gain);
  for (const char* secret : {"hidden", "wrong", "point1", "estimate", "0.2"}) {
    EXPECT_EQ(text.find(secret), std::string::npos) << secret;
  }
  // Nor does the database itself.
  const std::string bytes = read_text(gain.file().ledger);
  EXPECT_EQ(bytes.find("hidden-even"), std::string::npos);
  EXPECT_NE(text.find("\"passed\":true"), std::string::npos);
}

TEST_F(GateTest, TellsDevelopersNothingWhereThatIsAgreed) {
  const std::string more = std::string(kGain) +
                           "adaptivity = \"none\"\nresults = \"results\"\n"
                           "notify = [\"sh\", \"-c\", \"cat >> mails\"]\n";
  Gate silent = gate(more);
  silent.init(model(0.5), false);
  EXPECT_EQ(silent.submit(model(0.75), 0), GateAnswer::kRecorded);
  // Every commit is taken: this one is worse than the last.
  EXPECT_EQ(silent.submit(model(0.6), 0), GateAnswer::kRecorded);
  EXPECT_EQ(silent.submit(model(0.75), 0), GateAnswer::kRecorded);
  EXPECT_EQ(ledger_text(silent).find("passed"), std::string::npos);
  for (const GateSubmission& submission : silent.state().life->submissions) {
    EXPECT_EQ(submission.passed, std::nullopt);
  }
  // Others know, once.
  const std::string results = read_text(folder_ / "results");
  EXPECT_EQ(std::ranges::count(results, '\n'), 2);
  EXPECT_NE(results.find("\"passed\":true"), std::string::npos);
  EXPECT_NE(results.find("\"passed\":false"), std::string::npos);
  EXPECT_EQ(read_text(folder_ / "mails"), results);
}

TEST_F(GateTest, RefusesToTellNobody) {
  Gate silent = gate(std::string(kFloor) + "adaptivity = \"none\"\n");
  expect_error(ErrorCode::kInvalidArgument, {"nobody would learn"},
               [&] { silent.init("", false); });
}

TEST_F(GateTest, TellsAgainWhatCouldNotBeTold) {
  Gate noisy = gate(std::string(kFloor) + "notify = [\"sh\", \"notify.sh\"]\n");
  noisy.init("", false);
  folder_.write("notify.sh", "exit 1\n");
  expect_error(ErrorCode::kUnavailable, {"failed with 1"},
               [&] { noisy.submit(model(0.95), 0); });
  folder_.write("notify.sh", "cat >> told\n");
  EXPECT_EQ(noisy.submit(model(0.95), 0), GateAnswer::kPassed);
  EXPECT_EQ(noisy.submit(model(0.95), 0), GateAnswer::kPassed);
  const std::string told = read_text(folder_ / "told");
  EXPECT_EQ(std::ranges::count(told, '\n'), 1);
}

TEST_F(GateTest, RotatesItsKey) {
  Gate gain = gate(kGain);
  gain.init(model(0.5), false);
  gain.submit(model(0.75), 0);
  const auto before = gain.details();
  GateKey::make().save(folder_ / "next");
  gain.rotate(GateKey::load(folder_ / "next"));
  EXPECT_EQ(gain.details(), before);
  // The gate file still names the old key.
  expect_error(ErrorCode::kInvalidArgument, {"another key"}, [&] {
    Gate(file(kGain), LedgerMode::kOpen).submit(model(0.9), 0);
  });
  std::filesystem::rename(folder_ / "next", folder_ / "key");
  Gate after(file(kGain), LedgerMode::kOpen);
  EXPECT_EQ(after.submit(model(0.75), 0), GateAnswer::kPassed);
  EXPECT_EQ(after.submit(model(0.76), 0), GateAnswer::kFailed);
}

TEST_F(GateTest, KeepsItsKeyToItself) {
  EXPECT_EQ(std::filesystem::status(folder_ / "key").permissions(),
            std::filesystem::perms(0600));
  ::chmod((folder_ / "key").c_str(), 0640);
  Gate floor = gate(kFloor);
  expect_error(ErrorCode::kInvalidArgument, {"others may read", "0640"},
               [&] { floor.init("", false); });
  expect_error(ErrorCode::kUnavailable, {"cannot be written"},
               [&] { GateKey::make().save(folder_ / "key"); });
  folder_.write("short", "abc\n");
  ::chmod((folder_ / "short").c_str(), 0600);
  expect_error(ErrorCode::kInvalidArgument, {"64 hexadecimal digits"},
               [&] { GateKey::load(folder_ / "short"); });
}

TEST(GateKey, OpensWhatItSealedAndNothingElse) {
  const GateKey key = GateKey::make();
  const std::string sealed = key.seal("labels");
  EXPECT_EQ(key.open(sealed), "labels");
  EXPECT_NE(key.seal("labels"), sealed);
  // Nor does its length say what is in there.
  EXPECT_EQ(key.seal("{\"passed\":true}").size(),
            key.seal("{\"passed\":false}").size());
  EXPECT_EQ(key.open(key.seal("")), "");
  const std::string block(4096, 'x');
  EXPECT_EQ(key.open(key.seal(block)), block);
  for (std::size_t i = 0; i < sealed.size(); i += 7) {
    std::string changed = sealed;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_THROW(key.open(changed), Error) << i;
  }
  EXPECT_THROW(GateKey::make().open(sealed), Error);
  EXPECT_THROW(key.open(""), Error);
}

// --- Several at once ---

TEST_F(GateTest, SaysThatAnotherLifeBeganMeanwhile) {
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

TEST_F(GateTest, SpendsEachUseOnce) {
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

TEST_F(GateTest, SaysWhatIsWrongWithAGateFile) {
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

TEST_F(GateTest, SharesALedgerWithOthers) {
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

TEST_F(GateTest, KeepsItsConfigurationInTheLedger) {
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
}  // namespace weft::gate_test
