// Shards, keys and enclaves: who can read what, and that nothing is changed
// unseen.
#include "weft/market/enclave.h"

#include <fstream>
#include <numeric>
#include <thread>

#include "tests/market/scene.h"
#include "tests/support/temporary_folder.h"

#include "weft/data/fetch.h"
#include "weft/market/key_socket.h"
#include "weft/market/sealed_result.h"
#include "weft/market/shard_set.h"
#include "weft/market/work_units.h"
#include "weft/market/worker.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;
using market::Digest;
using market::KeyRequest;
using market::Market;
using market::ShardKey;

constexpr const char* kRecipe = R"(
[model]
name = "mlp"
hidden = [8]
[data]
name = "digits"
[optimizer]
name = "sgd"
lr = 0.1
[train]
epochs = 1
batch = 16
)";

std::string bytes_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::int64_t> rows_from(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

const Dataset& digits() {
  static const DatasetSplits splits = open_data({.name = "digits"});
  return *splits.train;
}

class ShardFile : public testing::Test {
 protected:
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  Digest write(const std::string& name, std::int64_t first,
               std::int64_t count) {
    return market::write_shard(path(name), key_, digits(),
                               rows_from(first, count));
  }
  TemporaryFolder folder_;
  ShardKey key_ = market::draw_shard_key();
};

TEST_F(ShardFile, IsCalledByItsBytesAndReadsBack) {
  // The first has several chunks.
  const Digest first = write("a", 0, 1100);
  EXPECT_EQ(first, market::digest_of_file(path("a")));
  const Digest second = write("b", 1100, 40);
  const market::ShardSet set(
      {{path("a"), first, key_}, {path("b"), second, key_}});
  EXPECT_EQ(set.sizes(), (std::vector<std::int64_t>{1100, 40}));
  const std::vector<std::int64_t> rows{1139, 0, 700};
  std::vector<Tensor> tensors[2];
  for (int side = 0; side < 2; ++side) {
    std::vector<TensorView> views;
    for (const Feature& feature : digits().features()) {
      std::vector<Dim> dims{3};
      for (const Dim dim : feature.type.shape.dims()) dims.push_back(dim);
      tensors[side].push_back(Tensor::zeros({feature.type.dtype, Shape(dims)}));
      views.push_back(tensors[side].back().view());
    }
    (side == 0 ? digits() : static_cast<const Dataset&>(set)).read(rows, views);
  }
  for (std::size_t i = 0; i < tensors[0].size(); ++i) {
    EXPECT_EQ(std::memcmp(tensors[0][i].raw(), tensors[1][i].raw(),
                          tensors[0][i].bytes()),
              0);
  }
  set.finish();
  EXPECT_EQ(set.reads(1), (std::vector<std::int64_t>{2, 1}));
}

TEST_F(ShardFile, RefusesAnyChange) {
  write("a", 0, 30);
  const std::string whole = bytes_of_file(path("a"));
  const auto read = [&](const std::string& bytes) {
    std::ofstream(path("changed"), std::ios::binary) << bytes;
    market::ShardReader reader(path("changed"), key_);
    std::vector<std::byte> examples;
    while (reader.read(examples)) {
    }
  };
  read(whole);
  for (std::size_t i = 0; i < whole.size(); i += 7) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 4);
    EXPECT_THROW(read(flipped), Error) << i;
  }
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{20}, whole.size() / 2, whole.size() - 1}) {
    EXPECT_THROW(read(whole.substr(0, size)), Error) << size;
  }
  EXPECT_THROW(read(whole + "x"), Error);
  ShardKey other = key_;
  other[31] ^= 1;
  EXPECT_THROW(market::ShardReader(path("a"), other), Error);
}

TEST_F(ShardFile, IsNotAnotherOfTheSameOwner) {
  const Digest first = write("a", 0, 30);
  write("b", 30, 30);
  // The owner's key opens it, but it is not what was accepted.
  const market::ShardSet set({{path("b"), first, key_}});
  expect_error(ErrorCode::kDataLoss, {"is not the shard that was asked for"},
               [&] { set.finish(); });
}

TEST_F(ShardFile, TellsNothingWithoutItsKey) {
  write("a", 0, 200);
  const std::string bytes = bytes_of_file(path("a"));
  EXPECT_EQ(bytes.find("digits"), std::string::npos);
  EXPECT_EQ(bytes.find("image"), std::string::npos);
}

// A market in which Anna and Ben own a shard of digits each, and a worker has a
// job on both.
class EnclaveTest : public testing::Test {
 protected:
  EnclaveTest() : ledger_(Ledger::open(location(), LedgerMode::kCreate)) {
    Market::begin(ledger_, MarketScene::usual());
    market_.emplace(ledger_);
    fs::create_directories(store());
    machine_.write(folder_.path() / "machine.key");
    worker_.write(folder_.path() / "worker.key");
    seal("anna", 0, 60);
    seal("ben", 60, 40);
    set_up_market();
  }

  std::string location() const { return (folder_.path() / "m.db").string(); }
  fs::path store() const { return folder_.path() / "store"; }

  void seal(const std::string& owner, std::int64_t first, std::int64_t count) {
    const ShardKey key = market::draw_shard_key();
    const auto path = store() / "new";
    const Digest content =
        market::write_shard(path, key, digits(), rows_from(first, count));
    fs::rename(path, market::stored(store(), content));
    contents_.push_back(content);
    keys_[owner] = {{content, key}};
  }
  market::Transaction make(const market::SecretKey& key, std::string_view what,
                           const market::Fields& fields,
                           std::int64_t later = 0) {
    const auto& accounts = market_->current().accounts;
    const auto found = accounts.find(key.public_key());
    return market::make_transaction(
        key, market_->current().market,
        (found == accounts.end() ? 0 : found->second.nonce) + later, what,
        fields);
  }
  // Blocks of a time that the test decides on.
  void append(const std::vector<market::Transaction>& transactions) {
    const market::Draft draft =
        market::draft_block(market_->current(), time_, transactions);
    for (const auto& refusal : draft.refused) ADD_FAILURE() << refusal.why;
    market_->append(draft.block);
  }
  void send(const market::SecretKey& key, std::string_view what,
            const market::Fields& fields) {
    append({make(key, what, fields)});
  }
  void vote_through(SaidFields payload) {
    const std::int64_t number = std::ssize(market_->current().proposals) + 1;
    const auto owner = key_named("owner");
    SaidFields proposal = payload;
    append({make(owner, "propose", proposal.number("association", 1)),
            make(owner, "vote", vote_of(number, true), 1)});
    time_ += 1;
    send(owner, "execute", payload.number("proposal", number));
  }
  void set_up_market() {
    send(key_named("owner"), "found",
         said().text("name", "digits").number("quorum", 1).number("debate", 1));
    vote_through(said()
                     .text("kind", "database")
                     .text("name", "d")
                     .number("price", 1000));
    // All shares are the owner's, to keep this short.
    const auto add = [&](std::size_t i, std::int64_t examples) {
      vote_through(said()
                       .text("kind", "shard")
                       .who("recipient", "owner")
                       .number("amount", 10)
                       .number("database", 1)
                       .key("content", contents_[i])
                       .number("examples", examples));
    };
    add(0, 60);
    add(1, 40);
    send(key_named("treasurer"), "deposit", deposit_of("buyer", 100'000));
    send(key_named("treasurer"), "deposit",
         said().key("to", worker_.public_key()).number("amount", 1000));
    send(worker_, "offer",
         said()
             .key("machine", machine_.public_key())
             .text("certificate",
                   market::to_hex(market::certify_machine(
                       key_named("vendor"), machine_.public_key())))
             .number("price", 10)
             .number("stake", 100));
  }

  std::int64_t submit(const std::string& task, std::int64_t epochs,
                      const std::string& recipe = kRecipe,
                      std::int64_t gas = 50'000) {
    const Digest measurement =
        market::measurement_of(market::own_program(), recipe, task);
    std::ofstream(market::stored(store(), measurement)) << recipe;
    const std::int64_t units =
        recipe.empty() ? 1
                       : market::units_per_example(parse_recipe(recipe, "test"),
                                                   digits(), task);
    send(key_named("buyer"), "submit_job",
         said()
             .text("task", task)
             .all<market::PublicKey>("contents", contents_)
             .all<market::PublicKey>("owners", {MarketScene::account("owner"),
                                                MarketScene::account("owner")})
             .number("epochs", epochs)
             .key("measurement", measurement)
             .number("units_per_example", units)
             .number("gas", gas)
             .number("seconds", 1000)
             .number("patience", 10'000)
             .number("redundancy", 1));
    return std::ssize(market_->current().jobs);
  }
  market::WorkerSetting setting(const std::string& results = "results") {
    return {.ledger = location(),
            .machine = folder_.path() / "machine.key",
            .store = store(),
            .keys = {},
            .results = folder_.path() / results};
  }
  market::EnclaveOrder order(std::int64_t job,
                             const std::string& results = "results") {
    return market::order_of(market_->current(), job, worker_.public_key(),
                            setting(results));
  }
  // The services of both owners, in this process.
  market::AskKeys services() {
    return
        [this](const KeyRequest& request, const market::Signature& signature) {
          std::vector<std::string> boxes;
          for (const auto& [owner, keys] : keys_) {
            market::KeyService service(*market_, keys);
            KeyRequest own = request;
            boxes.push_back(service.release(own, signature));
          }
          return boxes;
        };
  }
  market::EnclaveResult run(std::int64_t job,
                            const std::string& results = "results") {
    const market::EnclaveOrder ordered = order(job, results);
    const auto platform = market::software_platform(
        setting().machine, ordered.recipe, ordered.job.task);
    return market::run_order(ordered, *platform, services());
  }
  void report(const market::EnclaveResult& result) {
    const auto& said_report = result.report;
    send(worker_, "report",
         said()
             .number("job", said_report.job)
             .key("assignment", said_report.nonce)
             .key("measurement", said_report.measurement)
             .key("inputs", said_report.inputs)
             .key("outputs", said_report.outputs)
             .text("status", std::string(to_string(said_report.status)))
             .all("reads", said_report.reads)
             .all("values", said_report.values)
             .text("signature", market::to_hex(result.signature)));
  }
  const market::Job& job(std::int64_t number) {
    return market_->current().jobs[static_cast<std::size_t>(number - 1)];
  }

  TemporaryFolder folder_;
  market::SecretKey machine_;
  market::SecretKey worker_;
  Ledger ledger_;
  std::optional<Market> market_;
  std::vector<Digest> contents_;
  std::map<std::string, market::ShardKeys> keys_;
  std::int64_t time_ = 1'700'000'000;
};

TEST_F(EnclaveTest, TrainsCountsAndIsPaid) {
  const std::int64_t number = submit("training", 2);
  const market::EnclaveResult first = run(number);
  EXPECT_EQ(first.failure, "");
  EXPECT_EQ(first.report.reads, (std::vector<std::int64_t>{120, 80}));
  // Whoever runs it again makes the same model.
  const market::EnclaveResult again = run(number, "elsewhere");
  EXPECT_EQ(market::to_hex(first.report.outputs),
            market::to_hex(again.report.outputs));
  report(first);
  EXPECT_EQ(job(number).state, market::JobState::kPaid);
  EXPECT_FALSE(fs::exists(order(number).scratch));
}

TEST_F(EnclaveTest, RunsAsManyEpochsAsItsGasPays) {
  // An epoch is 100 reads, each of which costs 1 for the data.
  const std::int64_t number = submit("training", 5, kRecipe, 250);
  const market::EnclaveResult result = run(number);
  EXPECT_EQ(result.report.status, market::JobStatus::kPartial);
  EXPECT_EQ(result.report.reads, (std::vector<std::int64_t>{120, 80}));
  report(result);
  EXPECT_EQ(job(number).outcome, "partial_success");
  EXPECT_EQ(job(number).state, market::JobState::kPaid);
}

TEST_F(EnclaveTest, TellsOnlyTheMetricOfATry) {
  const std::int64_t number = submit("tryrun", 2);
  const market::EnclaveResult result = run(number);
  EXPECT_TRUE(result.outputs.starts_with("{\"accuracy\":")) << result.outputs;
  EXPECT_LT(result.outputs.size(), 50u);
  report(result);
  EXPECT_EQ(job(number).state, market::JobState::kPaid);
}

TEST_F(EnclaveTest, ValuesShards) {
  const std::int64_t number = submit("valuation", 1, "");
  const market::EnclaveResult result = run(number);
  ASSERT_EQ(result.report.values.size(), 2u) << result.failure;
  EXPECT_GT(result.report.values[0], result.report.values[1]);
  report(result);
  EXPECT_EQ(job(number).state, market::JobState::kPaid);
}

TEST_F(EnclaveTest, ReportsRecipesThatCannotBeMetered) {
  std::string recipe = kRecipe;
  recipe += "patience = 3\n";
  const std::int64_t number = submit("training", 2, recipe);
  const market::EnclaveResult result = run(number);
  EXPECT_EQ(result.report.status, market::JobStatus::kError);
  EXPECT_NE(result.failure.find("patience"), std::string::npos);
  report(result);
  EXPECT_EQ(job(number).state, market::JobState::kFailed);
  EXPECT_EQ(market_->current().balance_of(MarketScene::account("buyer")),
            100'000);
}

TEST_F(EnclaveTest, DoesNotRunWhatItWasNotMeasuredFor) {
  const std::int64_t number = submit("training", 2);
  market::EnclaveOrder changed = order(number);
  changed.recipe += "# one more line\n";
  const auto platform = market::software_platform(
      setting().machine, changed.recipe, changed.job.task);
  expect_error(ErrorCode::kInvalidArgument, {"another program or recipe"},
               [&] { market::run_order(changed, *platform, services()); });
}

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
                         const market::SecretKey& key) const {
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
  other.measurement = MarketScene::digest("hack");
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
  const market::SecretKey stranger;
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

TEST(ShardKeysTest, AreForTheirOwnerAlone) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "keys";
  const market::ShardKeys keys{
      {MarketScene::digest("a"), market::draw_shard_key()}};
  market::write_shard_keys(path, keys);
  EXPECT_EQ(market::read_shard_keys(path), keys);
  EXPECT_EQ(fs::status(path).permissions() & fs::perms::others_all,
            fs::perms::none);
  fs::permissions(path, fs::perms(0644));
  expect_error(ErrorCode::kInvalidArgument, {"others may read"},
               [&] { market::read_shard_keys(path); });
  const fs::path secret = folder.path() / "key";
  const market::SecretKey key;
  key.write(secret);
  EXPECT_EQ(market::SecretKey::read(secret).public_key(), key.public_key());
  EXPECT_THROW(key.write(secret), Error);
  fs::permissions(secret, fs::perms(0640));
  expect_error(ErrorCode::kInvalidArgument, {"others may read this key"},
               [&] { market::SecretKey::read(secret); });
}

TEST(ResultTest, IsForItsPayerAlone) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "result";
  const market::SecretKey payer;
  market::write_result(path, payer.public_key(), "the model");
  EXPECT_EQ(market::read_result(path, payer), "the model");
  EXPECT_EQ(bytes_of_file(path).find("model"), std::string::npos);
  const market::SecretKey other;
  expect_error(ErrorCode::kDataLoss, {"no result for this key"},
               [&] { market::read_result(path, other); });
}

}  // namespace
}  // namespace weft::test
