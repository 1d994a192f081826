// Where labels and predictions come from, and what is refused of them.
#include "tests/gate/fixture.h"

namespace weft::gate_labels_test {
namespace {

using namespace test;

class GateLabels : public test::GateFixture {};

TEST_F(GateLabels, RefusesPredictionsThatDoNotSuit) {
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

TEST_F(GateLabels, RefusesPointsThatComeTwice) {
  folder_.write("twice.csv", "id,label\na,x\nb,y\na,x\n");
  Gate twice = gate(kFloor, "twice.csv");
  expect_error(ErrorCode::kDataLoss, {"twice.csv:4", "'a' comes twice"},
               [&] { twice.init("", false); });
}

// --- Labels ---

// A test set with damaged rows would measure the damage.
TEST_F(GateLabels, HoldsPointsAgainstTheirSchema) {
  folder_.write("schema.toml",
                "default_environments = [\"training\", \"gate\"]\n"
                "[feature.id]\ntype = \"string\"\nmin_fraction = 1\n"
                "[feature.label]\ntype = \"string\"\n"
                "values = [\"hidden-even\", \"hidden-odd\"]\n"
                "[feature.split]\nmin_count = 1\n"
                "not_in_environments = [\"gate\"]\n");
  const std::string schema = "schema = \"schema.toml\"\n";
  Gate good = gate(kFloor + schema);
  good.init("", false);
  EXPECT_EQ(good.submit(model(0.95), 0), GateAnswer::kPassed);
  folder_.write("damaged.csv", "id,label\npoint0,hidden-even\npoint1,HIDDEN\n");
  Gate bad = gate("name = \"bad\"\n" + (kFloor + schema), "damaged.csv");
  expect_error(ErrorCode::kDataLoss,
               {"gate.schema", "label (unexpected_values)", "'HIDDEN'"},
               [&] { bad.init("", false); });
  // Nothing was drawn.
  EXPECT_FALSE(bad.state().life);
  // Which schema that is stands in the ledger, as all that the owner says.
  expect_error(ErrorCode::kInvalidArgument, {}, [&] {
    Gate(file(kFloor), LedgerMode::kOpen).submit(model(0.96), 0);
  });
}

TEST_F(GateLabels, AsksPeopleWhereModelsDiffer) {
  const std::string more =
      std::string(kGain) + "labels = 'folder(\"requests\")'\n";
  Gate asking = gate(more, "unlabelled.csv");
  asking.init(model(0.5), false);
  // Their gain is far above what it takes, so that no draw of points denies it.
  EXPECT_EQ(asking.submit(model(0.8), 0), GateAnswer::kWaiting);
  const auto request = folder_ / "requests" / "gate-1-1.request.csv";
  const Records asked = read_records(request);
  std::string answer = "id,label\n";
  for (std::size_t i = 0; i < asked.rows(); ++i) {
    const std::string id(asked.field(i, 0));
    const std::size_t point = std::stoul(id.substr(5));
    const double place = static_cast<double>(point * 7919 % kPool) / kPool;
    EXPECT_TRUE(place >= 0.5 && place < 0.8) << id;
    answer += id + "," + label_of(point) + "\n";
  }
  EXPECT_LT(
      asked.rows(),
      0.4 * static_cast<double>(plan_gate(asking.file().config.terms).points));
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
TEST_F(GateLabels, AlwaysWaitsForPeople) {
  Gate asking = gate(std::string(kGain) + "labels = 'folder(\"requests\")'\n",
                     "unlabelled.csv");
  asking.init(model(0.5), false);
  // They agree everywhere, so that there is nothing to ask.
  EXPECT_EQ(asking.submit(model(0.5), 0), GateAnswer::kWaiting);
  EXPECT_EQ(asking.submit(model(0.5), 0), GateAnswer::kFailed);
}

TEST_F(GateLabels, AsksAProgram) {
  folder_.write(
      "label.sh",
      "while read -r id; do n=${id#point};\n"
      "if [ $((n % 2)) = 0 ]; then l=hidden-even; else "
      "l=hidden-odd; fi; echo \"$id,$l\"; done | sed '1i id,label'\n");
  Gate asking =
      gate(std::string(kGain) + "labels = 'command([\"sh\", \"label.sh\"])'\n",
           "unlabelled.csv");
  asking.init(model(0.5), false);
  EXPECT_EQ(asking.submit(model(0.8), 0), GateAnswer::kPassed);
  EXPECT_EQ(asking.submit(model(0.81), 0), GateAnswer::kFailed);
}

TEST_F(GateLabels, GoesOnAfterAProgramThatFailed) {
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

TEST_F(GateLabels, RefusesLabelsThatAreNotThere) {
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

}  // namespace
}  // namespace weft::gate_labels_test
