// The C interface: what it promises beyond the example program.
#include "weft/c/weft.h"

#include <gtest/gtest.h>
#include <string>

#include "tests/support/exact.h"
#include "tests/support/temporary_folder.h"

#include "weft/files/exported.h"
#include "weft/runtime/jit/jit.h"

namespace weft::c_test {
namespace {

using testing::f32;

// Whether there was an error of the code whose text holds `part`.
::testing::AssertionResult failed(weft_error* error, weft_error_code code,
                                  const std::string& part) {
  if (error == nullptr) return ::testing::AssertionFailure() << "no error";
  const std::string text = weft_error_text(error);
  const bool is_right =
      weft_error_code_of(error) == code && text.find(part) != std::string::npos;
  weft_error_free(error);
  return is_right ? ::testing::AssertionSuccess()
                  : ::testing::AssertionFailure() << text;
}

class CInterface : public ::testing::Test {
 protected:
  CInterface() {
    const auto function = jit(
        [](const Value& x, const Value& y) {
          return std::vector{x, cast(y, DType::kF32) + 1};
        },
        {.name = "pair",
         .signature = {
             {{DType::kF32, {symbol("N"), 2}}, {DType::kI64, {symbol("N")}}}}});
    export_function(path_, *function.graph(f32({1, 2}, {1, 2}),
                                           Tensor::zeros({DType::kI64, {1}})));
    weft_error* error = weft_model_open(path_.c_str(), &model_);
    EXPECT_EQ(error, nullptr);
  }
  ~CInterface() override { weft_model_close(model_); }

  test::TemporaryFolder folder_;
  std::string path_ = (folder_ / "pair.weft").string();
  weft_model* model_ = nullptr;
};

TEST_F(CInterface, DescribesWhatItTakes) {
  EXPECT_EQ(weft_c_version(), WEFT_C_VERSION);
  ASSERT_EQ(weft_model_input_count(model_), 2u);
  ASSERT_EQ(weft_model_output_count(model_), 2u);
  EXPECT_STREQ(weft_model_input_name(model_, 1), "arg1");
  EXPECT_EQ(weft_model_input_name(model_, 2), nullptr);
  weft_tensor type{};
  ASSERT_EQ(weft_model_input(model_, 1, &type), nullptr);
  EXPECT_EQ(type.dtype, WEFT_I64);
  EXPECT_EQ(type.rank, 1);
  EXPECT_EQ(type.dims[0], -1);
  EXPECT_EQ(type.data, nullptr);
  EXPECT_TRUE(failed(weft_model_output(model_, 2, &type), WEFT_INVALID_ARGUMENT,
                     "no output 2"));
  EXPECT_EQ(weft_model_description(model_), nullptr);
}

TEST_F(CInterface, ResultsDoNotLieInTheCallersMemory) {
  float x[] = {1, 2, 3, 4};
  std::int64_t y[] = {10, -1};
  const weft_tensor inputs[] = {{WEFT_F32, 2, {2, 2}, x},
                                {WEFT_I64, 1, {2}, y}};
  weft_results* results = nullptr;
  ASSERT_EQ(weft_model_run(model_, inputs, 2, &results), nullptr);
  ASSERT_EQ(weft_results_count(results), 2u);
  x[0] = 100;
  weft_tensor same{};
  weft_tensor next{};
  ASSERT_EQ(weft_results_tensor(results, 0, &same), nullptr);
  ASSERT_EQ(weft_results_tensor(results, 1, &next), nullptr);
  EXPECT_EQ(static_cast<float*>(same.data)[0], 1);
  EXPECT_EQ(same.dims[1], 2);
  EXPECT_EQ(static_cast<float*>(next.data)[0], 11);
  EXPECT_EQ(static_cast<float*>(next.data)[1], 0);
  EXPECT_TRUE(failed(weft_results_tensor(results, 2, &next),
                     WEFT_INVALID_ARGUMENT, "no result 2"));
  weft_results_free(results);
}

TEST_F(CInterface, RefusesWhatIsNoTensor) {
  float x[] = {1, 2, 3};
  std::int64_t y[] = {1};
  const weft_tensor good{WEFT_F32, 2, {1, 2}, x};
  const weft_tensor count{WEFT_I64, 1, {1}, y};
  weft_results* results = nullptr;
  const auto expect_refused = [&](weft_tensor first, const char* part) {
    const weft_tensor inputs[] = {first, count};
    EXPECT_TRUE(failed(weft_model_run(model_, inputs, 2, &results),
                       WEFT_INVALID_ARGUMENT, part))
        << part;
    EXPECT_EQ(results, nullptr);
  };
  weft_tensor wrong = good;
  wrong.dtype = static_cast<weft_dtype>(12);
  expect_refused(wrong, "input 0: it has no dtype");
  wrong = good;
  wrong.rank = 9;
  expect_refused(wrong, "rank");
  wrong = good;
  wrong.dims[0] = -1;
  expect_refused(wrong, "a dim of it cannot be");
  wrong.dims[0] = std::int64_t{1} << 48;
  expect_refused(wrong, "a dim of it cannot be");
  wrong = good;
  wrong.data = nullptr;
  expect_refused(wrong, "NULL");
  wrong.data = reinterpret_cast<char*>(x) + 1;
  expect_refused(wrong, "aligned");
  wrong = good;
  wrong.dims[1] = 3;
  expect_refused(wrong, "f32[1, 3]");
  EXPECT_TRUE(failed(weft_model_run(model_, &good, 1, &results),
                     WEFT_INVALID_ARGUMENT, "takes 2 arguments"));
}

TEST_F(CInterface, ErrorsSayWhatTheyAre) {
  weft_model* none = nullptr;
  EXPECT_TRUE(failed(weft_model_open((folder_ / "none").c_str(), &none),
                     WEFT_UNAVAILABLE, "none"));
  folder_.write("text.weft", "no model at all, but a text");
  EXPECT_TRUE(failed(weft_model_open((folder_ / "text.weft").c_str(), &none),
                     WEFT_DATA_LOSS, "text.weft"));
  EXPECT_EQ(none, nullptr);
  char* json = nullptr;
  EXPECT_TRUE(failed(weft_model_predict(model_, "a row", nullptr, 0, &json),
                     WEFT_UNSUPPORTED, "says nothing of its data"));
  EXPECT_EQ(json, nullptr);
  EXPECT_TRUE(failed(weft_set_threads(0), WEFT_INVALID_ARGUMENT, "0 threads"));
  weft_error_free(nullptr);
  weft_text_free(nullptr);
  weft_results_free(nullptr);
  weft_model_close(nullptr);
}

}  // namespace
}  // namespace weft::c_test
