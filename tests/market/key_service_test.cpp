// Keys of shards go to the enclave of a running job, and to nobody else.
#include "weft/market/key_service.h"

#include <thread>

#include "tests/market/enclaves.h"

#include "weft/market/key_socket.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;
using market::KeyRequest;

// What an enclave would ask.
class KeyServiceTest : public EnclaveTest {
 protected:
  KeyServiceTest() : number_(submit("training", 1)) {
    const market::Job& asked = job(number_);
    request_ = {.job = number_,
                .nonce = asked.assignments[0].nonce,
                .measurement = asked.measurement,
                .channel = channel_.public_key(),
                .contents = {contents_[0]}};
  }
  market::Signature sign(const KeyRequest& request,
                         const market::SigningKey& key) const {
    return key.sign("weft market key request", market::bytes_of(request));
  }
  void expect_refused(const KeyRequest& request, const std::string& why) {
    market::KeyService service(*market_, keys_["anna"]);
    expect_error(ErrorCode::kInvalidArgument, {why},
                 [&] { service.release(request, sign(request, machine_)); });
  }
  std::int64_t number_;
  market::KeyChannel channel_;
  KeyRequest request_;
};

TEST_F(KeyServiceTest, AnswersTheEnclaveOfTheJobOnce) {
  market::KeyService service(*market_, keys_["anna"]);
  const std::string box = service.release(request_, sign(request_, machine_));
  EXPECT_EQ(channel_.open(box), keys_["anna"]);
  const market::KeyChannel other;
  expect_error(ErrorCode::kDataLoss, {"not for this channel"},
               [&] { other.open(box); });
  expect_error(ErrorCode::kInvalidArgument, {"answered already"},
               [&] { service.release(request_, sign(request_, machine_)); });
}

TEST_F(KeyServiceTest, RefusesOtherPrograms) {
  KeyRequest other = request_;
  other.measurement = MarketScene::digest("another program");
  expect_refused(other, "another program");
}

TEST_F(KeyServiceTest, RefusesStaleNonces) {
  KeyRequest stale = request_;
  stale.nonce = MarketScene::digest("yesterday");
  expect_refused(stale, "no running assignment");
  report(run(number_));
  expect_refused(request_, "no running assignment");
}

TEST_F(KeyServiceTest, RefusesOtherMachinesAndChangedRequests) {
  market::KeyService service(*market_, keys_["anna"]);
  const market::SigningKey stranger;
  expect_error(ErrorCode::kInvalidArgument, {"not signed by the machine"},
               [&] { service.release(request_, sign(request_, stranger)); });
  KeyRequest redirected = request_;
  const market::KeyChannel thief;
  redirected.channel = thief.public_key();
  expect_error(ErrorCode::kInvalidArgument, {"not signed by the machine"},
               [&] { service.release(redirected, sign(request_, machine_)); });
}

TEST_F(KeyServiceTest, RefusesShardsThatAreNotOfTheJob) {
  KeyRequest greedy = request_;
  greedy.contents = {contents_[1]};
  expect_refused(greedy, "none of the shards is of this owner");
  greedy.contents = {MarketScene::digest("elsewhere")};
  expect_refused(greedy, "does not read shard");
}

TEST_F(KeyServiceTest, RefusesWhatItsOwnerDoesNotApprove) {
  market::KeyService strict(*market_, keys_["anna"],
                            {MarketScene::digest("the audited one")});
  expect_error(ErrorCode::kInvalidArgument, {"does not approve"},
               [&] { strict.release(request_, sign(request_, machine_)); });
}

TEST_F(KeyServiceTest, AnswersBehindASocket) {
  market::KeyService service(*market_, keys_["anna"]);
  const fs::path socket = folder_.path() / "keys";
  std::atomic<bool> stop = false;
  std::thread serving([&] {
    market::serve_keys(socket, service, stop, [](const std::string&) {});
  });
  while (!fs::exists(socket)) std::this_thread::yield();
  std::string box;
  for (int i = 0; i < 100 && box.empty(); ++i) {
    try {
      box = market::ask_keys(socket, request_, sign(request_, machine_));
    } catch (const Error&) {
      std::this_thread::yield();  // it is bound, and does not listen yet
    }
  }
  EXPECT_EQ(channel_.open(box), keys_["anna"]);
  EXPECT_EQ(fs::status(socket).permissions(), fs::perms(0600));
  expect_error(ErrorCode::kUnavailable, {"answered already"}, [&] {
    market::ask_keys(socket, request_, sign(request_, machine_));
  });
  stop = true;
  serving.join();
  for (const char* line : {"", "{", "[]", "{\"job\":1}", "null"}) {
    EXPECT_NE(market::answer_line(service, line).find("refused"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace weft::test
