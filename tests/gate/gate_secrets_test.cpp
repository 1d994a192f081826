// What a gate hides, from whom, and whom it tells.
#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/gate/fixture.h"

namespace weft::gate_secrets_test {
namespace {

using namespace test;

class GateSecrets : public test::GateFixture {};

TEST_F(GateSecrets, HidesWhatDevelopersMustNotRead) {
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

TEST_F(GateSecrets, TellsDevelopersNothingWhereThatIsAgreed) {
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
  EXPECT_EQ(std::filesystem::status(folder_ / "results").permissions(),
            std::filesystem::perms(0600));
}

// A disk that is full takes no half of a line, behind which the next would
// stand.
TEST_F(GateSecrets, TellsWholeLinesWhereTheDiskIsFull) {
  constexpr std::size_t kMost = 8'000'000;
  const std::string before(kMost - 20, '.');
  const auto results = folder_.write("results", before);
  Gate silent = gate(std::string(kFloor) +
                     "adaptivity = \"none\"\nresults = \"results\"\n");
  silent.init("", false);
  const std::filesystem::path good = model(0.95);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{kMost, kMost};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int code = 1;
    try {
      Gate(silent.file(), LedgerMode::kOpen).submit(good, 0);
    } catch (const Error& error) {
      code = error.code() == ErrorCode::kUnavailable ? 0 : 2;
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(std::filesystem::file_size(results), before.size());
  // With room again it is told.
  EXPECT_EQ(silent.submit(good, 0), GateAnswer::kRecorded);
  const std::string told = read_text(results).substr(before.size());
  EXPECT_EQ(nlohmann::json::parse(told)["passed"], true);
}

TEST_F(GateSecrets, RefusesToTellNobody) {
  Gate silent = gate(std::string(kFloor) + "adaptivity = \"none\"\n");
  expect_error(ErrorCode::kInvalidArgument, {"nobody would learn"},
               [&] { silent.init("", false); });
}

TEST_F(GateSecrets, TellsAgainWhatCouldNotBeTold) {
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

TEST_F(GateSecrets, RotatesItsKey) {
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

TEST_F(GateSecrets, KeepsItsKeyToItself) {
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

}  // namespace
}  // namespace weft::gate_secrets_test
