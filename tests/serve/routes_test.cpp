// The server behind its addresses, without sockets.
#include "weft/serve/http/routes.h"

#include <future>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/serve/models.h"
#include "tests/support/errors.h"

namespace weft::routes_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using serve::HttpAnswer;
using serve::HttpCall;
using serve::Routes;
using serve::Server;
using serve::ServerOptions;
using test::TemporaryFolder;

constexpr const char* kInfer = "/v2/models/scale/infer";
constexpr const char* kRow = R"({"inputs": [{"name": "arg0", "shape": [1, 2],
  "datatype": "FP32", "data": [1, 2]}]})";

class RoutesTest : public testing::Test {
 protected:
  void start(const ServerOptions& options = {}) {
    server_ = std::make_unique<Server>(options);
    routes_ = std::make_unique<Routes>(*server_);
    path_ = test::export_scale(folder_, "scale.weft");
    server_->repository().open({path_.string()});
  }

  // An answer that comes in time, and how to give the call up.
  struct Pending {
    std::future<HttpAnswer> answer;
    std::function<void()> give_up;
  };
  Pending begin(const HttpCall& call) {
    if (auto refused = routes_->refuse(call)) {
      std::promise<HttpAnswer> made;
      made.set_value(*refused);
      return {made.get_future(), nullptr};
    }
    const auto made = std::make_shared<std::promise<HttpAnswer>>();
    auto give_up =
        routes_->handle(call, [made](const std::function<HttpAnswer()>& write) {
          made->set_value(write());
        });
    return {made->get_future(), std::move(give_up)};
  }
  HttpAnswer get(std::string_view path) {
    return begin({.method = "GET", .path = path}).answer.get();
  }
  HttpAnswer post(std::string_view path, std::string_view body = {}) {
    return begin({.method = "POST", .path = path, .body = body}).answer.get();
  }
  std::string metric(const std::string& name) {
    const std::string text = get("/metrics").body;
    const auto begin = text.find("\n" + name + " ") + name.size() + 2;
    return text.substr(begin, text.find('\n', begin) - begin);
  }

  TemporaryFolder folder_;
  std::filesystem::path path_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Routes> routes_;
};

TEST_F(RoutesTest, AnswersTheProtocol) {
  start();
  EXPECT_EQ(get("/v2/health/live").body, R"({"live":true})");
  EXPECT_EQ(get("/v2/health/ready").body, R"({"ready":true})");
  EXPECT_EQ(json::parse(get("/v2").body)["name"], "weft");
  const json metadata = json::parse(get("/v2/models/scale").body);
  EXPECT_EQ(metadata["inputs"], json::parse(R"([{"name": "arg0",
    "datatype": "FP32", "shape": [-1, 2]}])"));
  EXPECT_EQ(metadata["versions"], json::parse(R"(["1"])"));
  EXPECT_EQ(get("/v2/models/scale/versions/1/ready").code, 200);
  EXPECT_EQ(get("/v2/models/scale/versions/2/ready").code, 404);
  const HttpAnswer answer = post(kInfer, kRow);
  EXPECT_EQ(answer.code, 200) << answer.body;
  EXPECT_EQ(json::parse(answer.body)["outputs"][0]["data"],
            json::parse("[10, 200]"));
}

TEST_F(RoutesTest, RefusesByStatus) {
  start();
  EXPECT_EQ(get("/v3").code, 404);
  EXPECT_EQ(get("/v2/models/scale/infer").code, 405);
  EXPECT_EQ(get("/v2/models/scale/infer").allow, "POST");
  EXPECT_EQ(post("/v2/models/scale").allow, "GET, HEAD");
  EXPECT_EQ(post("/v2/models/other/infer", kRow).code, 404);
  EXPECT_EQ(post("/v2/models/scale/versions/9/infer", kRow).code, 404);
  EXPECT_EQ(post(kInfer, "{").code, 400);
  EXPECT_EQ(post(kInfer, R"({"inputs": [{"name": "arg1", "shape": [1],
    "datatype": "FP32", "data": [1]}]})")
                .code,
            400);
  EXPECT_EQ(begin({.method = "POST",
                   .path = kInfer,
                   .body = kRow,
                   .content_encoding = "gzip"})
                .answer.get()
                .code,
            400);
  EXPECT_EQ(
      begin(
          {.method = "POST", .path = kInfer, .body = kRow, .json_size = "12x"})
          .answer.get()
          .code,
      400);
}

TEST_F(RoutesTest, NobodyComesInWithoutTheToken) {
  start({.access = serve::Access("secret")});
  for (const char* path : {"/metrics", "/v2", "/v2/models/scale"}) {
    EXPECT_EQ(get(path).code, 401) << path;
  }
  EXPECT_EQ(post(kInfer, kRow).code, 401);
  EXPECT_EQ(post("/v2/repository/index").code, 401);
  EXPECT_EQ(post("/v2/repository/models/scale/unload").code, 401);
  // Whoever guesses addresses learns nothing.
  EXPECT_EQ(get("/v2/nothing").code, 401);
  for (const char* header :
       {"secret", "Bearer", "Bearer secre", "Bearer secrett", "bearer secret",
        "Basic secret"}) {
    EXPECT_EQ(begin({.method = "GET", .path = "/v2", .authorization = header})
                  .answer.get()
                  .code,
              401)
        << header;
  }
  EXPECT_EQ(
      begin({.method = "GET", .path = "/v2", .authorization = "Bearer secret"})
          .answer.get()
          .code,
      200);
  EXPECT_EQ(get("/v2/health/ready").code, 200);
}

TEST_F(RoutesTest, AFullQueueRefusesAtOnce) {
  start({.executors = {.delay = 1h, .most_waiting = 2}, .deadline = 24h});
  auto first = begin({.method = "POST", .path = kInfer, .body = kRow});
  auto second = begin({.method = "POST", .path = kInfer, .body = kRow});
  const HttpAnswer third = post(kInfer, kRow);
  EXPECT_EQ(third.code, 429);
  EXPECT_NE(third.body.find("2 requests wait"), std::string::npos);
  // Who gives up makes room.
  first.give_up();
  EXPECT_EQ(first.answer.get().code, 499);
  EXPECT_EQ(metric(R"(weft_waiting_requests{model="scale"})"), "1");
  auto fourth = begin({.method = "POST", .path = kInfer, .body = kRow});
  // The end waits for no delay, and leaves nobody without an answer.
  EXPECT_TRUE(server_->drain(serve::Clock::now() + 1h));
  EXPECT_EQ(second.answer.get().code, 200);
  EXPECT_EQ(fourth.answer.get().code, 200);
  EXPECT_EQ(post(kInfer, kRow).code, 503);
  EXPECT_EQ(metric(R"(weft_batch_rows_sum{model="scale"})"), "2");
  EXPECT_EQ(metric(R"(weft_batches_total{model="scale"})"), "1");
}

TEST_F(RoutesTest, RequestsShareARunWhenItIsFull) {
  start({.executors = {.delay = 1h},
         .repository = {.model = {.most_rows = 2}},
         .deadline = 24h});
  auto first = begin({.method = "POST", .path = kInfer, .body = kRow});
  auto second = begin({.method = "POST", .path = kInfer, .body = kRow});
  EXPECT_EQ(first.answer.get().code, 200);
  EXPECT_EQ(second.answer.get().code, 200);
  EXPECT_EQ(metric(R"(weft_batches_total{model="scale"})"), "1");
}

TEST_F(RoutesTest, AVersionTakesThePlaceOfAnother) {
  start({.executors = {.delay = 1h}, .deadline = 24h});
  auto waiting = begin({.method = "POST", .path = kInfer, .body = kRow});
  test::export_scale(folder_, "scale.weft", 20);
  EXPECT_EQ(post("/v2/repository/models/scale/load").code, 200);
  EXPECT_EQ(json::parse(get("/v2/models/scale").body)["versions"][0], "2");
  auto later = begin({.method = "POST", .path = kInfer, .body = kRow});
  EXPECT_TRUE(server_->drain(serve::Clock::now() + 1h));
  const json old_answer = json::parse(waiting.answer.get().body);
  const json new_answer = json::parse(later.answer.get().body);
  EXPECT_EQ(old_answer["model_version"], "1");
  EXPECT_EQ(old_answer["outputs"][0]["data"], json::parse("[10, 200]"));
  EXPECT_EQ(new_answer["model_version"], "2");
  EXPECT_EQ(new_answer["outputs"][0]["data"], json::parse("[20, 200]"));
}

TEST_F(RoutesTest, ABrokenFileLeavesTheOldVersion) {
  start();
  folder_.write("scale.weft", "nothing");
  const HttpAnswer loaded = post("/v2/repository/models/scale/load");
  EXPECT_EQ(loaded.code, 503);
  EXPECT_NE(loaded.body.find("version 1 goes on"), std::string::npos);
  EXPECT_NE(loaded.body.find(path_.string()), std::string::npos) << loaded.body;
  const json index = json::parse(post("/v2/repository/index").body);
  EXPECT_EQ(index[0]["state"], "READY");
  EXPECT_NE(std::string(index[0]["reason"]).find("version 1 goes on"),
            std::string::npos);
  EXPECT_EQ(post(kInfer, kRow).code, 200);
  EXPECT_EQ(metric(R"(weft_model_failed_loads_total{model="scale"})"), "1");
}

TEST_F(RoutesTest, ModelsComeAndGo) {
  start();
  const auto listed = [&](std::string_view body) {
    return json::parse(post("/v2/repository/index", body).body).size();
  };
  EXPECT_EQ(listed(R"({"ready": true})"), 1u);
  EXPECT_EQ(post("/v2/repository/models/scale/unload").code, 200);
  EXPECT_EQ(listed(R"({"ready": true})"), 0u);
  EXPECT_EQ(listed(R"({"ready": false})"), 1u);
  EXPECT_EQ(listed("{}"), 1u);
  EXPECT_EQ(post("/v2/repository/index", R"({"raedy": true})").code, 400);
  EXPECT_EQ(post(kInfer, kRow).code, 503);
  EXPECT_EQ(get("/v2/health/ready").code, 200);
  EXPECT_EQ(post("/v2/repository/models/scale/load").code, 200);
  EXPECT_EQ(post(kInfer, kRow).code, 200);
  EXPECT_EQ(post("/v2/repository/models/other/load").code, 404);
  EXPECT_EQ(post("/v2/repository/models/..%2Fx/load").code, 404);
}

// A load may come just when a file is being replaced.
TEST_F(RoutesTest, AFileThatWasMissingIsStillWatched) {
  start({.repository = {.watch_every = 1ms}});
  std::filesystem::remove(path_);
  EXPECT_EQ(post("/v2/repository/models/scale/load").code, 503);
  test::export_scale(folder_, "scale.weft", 20);
  const auto first = [&] {
    return json::parse(post(kInfer, kRow).body)["outputs"][0]["data"][0];
  };
  const auto end = serve::Clock::now() + 10s;
  while (first() != 20 && serve::Clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(first(), 20);
}

TEST_F(RoutesTest, AFolderIsLookedAtAgain) {
  server_ = std::make_unique<Server>(ServerOptions());
  routes_ = std::make_unique<Routes>(*server_);
  test::export_scale(folder_, "scale.weft");
  server_->repository().open({folder_.path().string()});
  test::export_lookup(folder_, "later.weft");
  EXPECT_EQ(get("/v2/models/later").code, 404);
  EXPECT_EQ(post("/v2/repository/models/later/load").code, 200);
  EXPECT_EQ(get("/v2/models/later").code, 200);
}

TEST_F(RoutesTest, VersionsAreServedBesideEachOther) {
  server_ = std::make_unique<Server>(
      ServerOptions{.repository = {.watch_every = 1ms}});
  routes_ = std::make_unique<Routes>(*server_);
  std::filesystem::create_directory(folder_ / "scale");
  test::export_scale(folder_, "scale/2.weft", 20);
  test::export_scale(folder_, "scale/9.weft", 90);
  test::export_scale(folder_, "scale/best.weft");  // no version
  server_->repository().open({"scale=" + (folder_ / "scale").string()});
  const auto answers = [&](const std::string& address, double first) {
    const json answer = json::parse(post(address, kRow).body);
    EXPECT_EQ(answer["outputs"][0]["data"], json({first, 200})) << answer;
  };
  const auto versions = [&] {
    return json::parse(get("/v2/models/scale").body)["versions"];
  };
  answers(kInfer, 90);
  answers("/v2/models/scale/versions/2/infer", 20);
  EXPECT_EQ(post("/v2/models/scale/versions/1/infer", kRow).code, 404);
  EXPECT_EQ(versions(), json({"2", "9"}));
  EXPECT_EQ(get("/v2/models/scale/versions/9/ready").code, 200);

  // Ten comes behind nine, though not as a text.
  test::export_scale(folder_, "scale/10.weft", 100);
  while (versions().size() < 3) std::this_thread::yield();
  answers(kInfer, 100);
  answers("/v2/models/scale/versions/9/infer", 90);

  // What cannot be loaded leaves the others, and the server ready.
  folder_.write("scale/11.weft", "nothing");
  EXPECT_EQ(post("/v2/repository/models/scale/load").code, 503);
  answers(kInfer, 100);
  EXPECT_EQ(get("/v2/health/ready").code, 200);
  const json index = json::parse(post("/v2/repository/index").body);
  ASSERT_EQ(index.size(), 4u);
  EXPECT_EQ(index[3]["version"], "11");
  EXPECT_EQ(index[3]["state"], "UNAVAILABLE");

  EXPECT_EQ(post("/v2/repository/models/scale/unload").code, 200);
  EXPECT_EQ(post("/v2/models/scale/versions/2/infer", kRow).code, 503);
}

TEST_F(RoutesTest, VersionsWithoutAFileGoWithTheNextLoad) {
  server_ = std::make_unique<Server>(ServerOptions());
  routes_ = std::make_unique<Routes>(*server_);
  std::filesystem::create_directory(folder_ / "scale");
  for (const char* file : {"scale/1.weft", "scale/2.weft", "scale/3.weft"}) {
    test::export_scale(folder_, file);
  }
  server_->repository().open({"scale=" + (folder_ / "scale").string()});
  std::filesystem::remove(folder_ / "scale/1.weft");
  EXPECT_EQ(post("/v2/models/scale/versions/1/infer", kRow).code, 200);
  EXPECT_EQ(post("/v2/repository/models/scale/load").code, 200);
  EXPECT_EQ(json::parse(get("/v2/models/scale").body)["versions"],
            json({"2", "3"}));
  EXPECT_EQ(post("/v2/models/scale/versions/1/infer", kRow).code, 404);
  EXPECT_EQ(json::parse(post("/v2/repository/index").body).size(), 2u);
  // Where none has a file, as when the folder is gone, what is loaded goes on.
  std::filesystem::remove_all(folder_ / "scale");
  EXPECT_EQ(post("/v2/repository/models/scale/load").code, 503);
  EXPECT_EQ(post("/v2/models/scale/versions/2/infer", kRow).code, 200);
}

TEST_F(RoutesTest, AnUnloadedModelStaysSoWhateverComesToItsFolder) {
  server_ = std::make_unique<Server>(ServerOptions());
  routes_ = std::make_unique<Routes>(*server_);
  std::filesystem::create_directory(folder_ / "scale");
  test::export_scale(folder_, "scale/1.weft");
  server_->repository().open({"scale=" + (folder_ / "scale").string()});
  EXPECT_EQ(post("/v2/repository/models/scale/unload").code, 200);
  test::export_scale(folder_, "scale/2.weft", 20);
  // A load looks into the folders of all models.
  EXPECT_EQ(post("/v2/repository/models/other/load").code, 404);
  const json index = json::parse(post("/v2/repository/index").body);
  ASSERT_EQ(index.size(), 2u);
  EXPECT_EQ(index[1]["reason"], "unloaded");
  EXPECT_EQ(post("/v2/repository/models/scale/load").code, 200);
  EXPECT_EQ(json::parse(post(kInfer, kRow).body)["model_version"], "2");
}

TEST_F(RoutesTest, AFolderThatIsGoneIsNamed) {
  server_ = std::make_unique<Server>(ServerOptions());
  routes_ = std::make_unique<Routes>(*server_);
  const auto folder = folder_ / "models";
  std::filesystem::create_directory(folder);
  test::export_scale(folder_, "models/scale.weft");
  server_->repository().open({folder.string()});
  std::filesystem::remove_all(folder);
  const HttpAnswer answer = post("/v2/repository/models/other/load");
  EXPECT_EQ(answer.code, 503);
  EXPECT_NE(answer.body.find("models: the folder cannot be read"),
            std::string::npos)
      << answer.body;
  EXPECT_EQ(post(kInfer, kRow).code, 200);
}

TEST_F(RoutesTest, IsReadyOnlyWhileItIs) {
  server_ = std::make_unique<Server>(ServerOptions());
  routes_ = std::make_unique<Routes>(*server_);
  EXPECT_EQ(get("/v2/health/live").code, 200);
  EXPECT_EQ(get("/v2/health/ready").code, 503);
  server_->repository().open({test::export_scale(folder_, "scale.weft")});
  EXPECT_EQ(get("/v2/health/ready").code, 200);
  server_->leave();
  EXPECT_EQ(get("/v2/health/ready").code, 503);
}

TEST_F(RoutesTest, BadModelsEndTheStart) {
  Server server{ServerOptions()};
  const std::string good = test::export_scale(folder_, "scale.weft");
  test::expect_error(ErrorCode::kUnavailable, {"none.weft"}, [&] {
    server.repository().open({(folder_ / "none.weft").string()});
  });
  test::expect_error(ErrorCode::kInvalidArgument, {"another model"}, [&] {
    Server other{ServerOptions()};
    other.repository().open({good, "scale=" + good});
  });
  test::expect_error(ErrorCode::kInvalidArgument, {"scael", "scale"}, [&] {
    Server other{
        ServerOptions{.repository = {.warm_up = {{"scael", {{{"N", 3}}}}}}}};
    other.repository().open({good});
  });
  std::filesystem::create_directory(folder_ / "empty");
  test::expect_error(ErrorCode::kInvalidArgument, {"no version", "x"}, [&] {
    Server other{ServerOptions()};
    other.repository().open({good, "x=" + (folder_ / "empty").string()});
  });
  test::expect_error(ErrorCode::kInvalidArgument, {"a/b", "name"}, [&] {
    Server other{ServerOptions()};
    other.repository().open({"a/b=" + good});
  });
}

TEST_F(RoutesTest, StatefulModelsCountEachRequestOnce) {
  server_ = std::make_unique<Server>(
      ServerOptions{.executors = {.threads = 2, .executors = 2}});
  routes_ = std::make_unique<Routes>(*server_);
  server_->repository().open({test::export_total(folder_, "total.weft")});
  const std::string one = R"({"inputs": [{"name": "arg0", "shape": [],
    "datatype": "FP32", "data": [1]}]})";
  std::vector<Pending> all;
  for (int i = 0; i < 50; ++i) {
    all.push_back(begin(
        {.method = "POST", .path = "/v2/models/total/infer", .body = one}));
  }
  std::set<double> sums;
  for (Pending& each : all) {
    sums.insert(json::parse(each.answer.get().body)["outputs"][0]["data"][0]
                    .get<double>());
  }
  EXPECT_EQ(sums.size(), 50u);
  EXPECT_EQ(*sums.rbegin(), 50);
}

}  // namespace
}  // namespace weft::routes_test
