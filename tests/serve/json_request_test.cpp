#include "weft/serve/protocol/json_request.h"

#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/support/errors.h"

namespace weft::json_request_test {
namespace {

using nlohmann::json;
using serve::AnswerForm;
using serve::InferAnswer;
using serve::parse_infer_request;
using serve::Status;

std::string input(const std::string& more) {
  return R"({"inputs": [{"name": "x", )" + more + "}]}";
}

Tensor parsed(const std::string& more) {
  return parse_infer_request(input(more)).call.inputs.at(0).tensor;
}

void refuse(const std::string& text, std::initializer_list<std::string> parts) {
  test::expect_error(ErrorCode::kInvalidArgument, parts,
                     [&] { parse_infer_request(text); });
}

TEST(JsonRequest, ReadsWhatTheProtocolShows) {
  const auto request = parse_infer_request(R"({
    "id": "42", "parameters": {"timeout": 1500, "priority": [1, {"a": null}]},
    "inputs": [
      {"name": "input0", "shape": [2, 2], "datatype": "INT32",
       "data": [1, 2, 3, 4]},
      {"name": "input1", "data": [true], "shape": [1], "datatype": "BOOL"}],
    "outputs": [{"name": "output0", "parameters": {"binary_data": true}}]})");
  EXPECT_EQ(request.call.id, "42");
  EXPECT_EQ(request.call.timeout, std::chrono::microseconds(1500));
  ASSERT_EQ(request.call.inputs.size(), 2u);
  EXPECT_EQ(request.call.inputs[0].name, "input0");
  EXPECT_TRUE(identical(request.call.inputs[0].tensor,
                        Tensor::of<std::int32_t>({2, 2}, {1, 2, 3, 4})));
  EXPECT_TRUE(
      identical(request.call.inputs[1].tensor, Tensor::of<bool>({1}, {true})));
  EXPECT_EQ(request.call.outputs, std::vector<std::string>{"output0"});
  EXPECT_TRUE(request.form.is_binary_of("output0"));
  EXPECT_FALSE(request.form.is_binary_of("output1"));
}

TEST(JsonRequest, NestedListsAreRowMajor) {
  EXPECT_TRUE(identical(
      parsed(
          R"("shape": [2, 2], "datatype": "FP32", "data": [[1, 2], [3, 4]])"),
      Tensor::of<float>({2, 2}, {1, 2, 3, 4})));
}

TEST(JsonRequest, NumbersAreExact) {
  const Tensor wide = parsed(
      R"("shape": [2], "datatype": "INT64",
         "data": [9223372036854775807, -9223372036854775808])");
  EXPECT_EQ(wide.data<std::int64_t>()[0],
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(wide.data<std::int64_t>()[1],
            std::numeric_limits<std::int64_t>::min());
  const Tensor real = parsed(
      R"("shape": [4], "datatype": "FP32", "data": [0.1, -2.5e-3, 1e-46, 3e38])");
  EXPECT_EQ(real.data<float>()[0], 0.1f);
  EXPECT_EQ(real.data<float>()[1], -2.5e-3f);
  EXPECT_EQ(real.data<float>()[2], 0.0f);
  EXPECT_EQ(real.data<float>()[3], 3e38f);
  // It would lie in the middle of two halves by way of f32.
  const Tensor half =
      parsed(R"("shape": [1], "datatype": "FP16", "data": [1.00048828126])");
  EXPECT_EQ(half.item(0), 1 + 0x1p-10);
}

TEST(JsonRequest, SaysWhichElementIsOutsideOfItsRange) {
  refuse(input(R"("shape": [3], "datatype": "UINT8", "data": [1, 2, 300])"),
         {"inputs[0].data[2]", "300", "UINT8", "0 to 255", "byte 76"});
  refuse(input(R"("shape": [1], "datatype": "INT8", "data": [-129])"),
         {"-128 to 127"});
  refuse(input(R"("shape": [1], "datatype": "INT32", "data": [1.5])"),
         {"inputs[0].data[0]", "no integer", "INT32"});
  refuse(input(R"("shape": [1], "datatype": "FP32", "data": [1e39])"),
         {"outside of the range of FP32"});
  refuse(input(R"("shape": [2], "datatype": "FP16", "data": [65504, 65520])"),
         {"inputs[0].data[1]", "65520 is outside of the range of FP16"});
  refuse(input(R"("shape": [1], "datatype": "BF16", "data": [-3.4e38])"),
         {"outside of the range of BF16"});
  refuse(input(R"("shape": [1], "datatype": "BOOL", "data": [2])"), {"BOOL"});
  refuse(input(R"("shape": [1], "datatype": "FP32", "data": ["1"])"),
         {"inputs[0].data[0]", "a number is due"});
}

TEST(JsonRequest, SizesThatLieAreRefused) {
  refuse(input(R"("shape": [2], "datatype": "FP32", "data": [1])"),
         {"1 elements do not fill f32[2]"});
  refuse(input(R"("shape": [1], "datatype": "FP32", "data": [1, 2])"),
         {"inputs[0].data[1]", "more elements"});
  refuse(input(R"("shape": [-1], "datatype": "FP32", "data": [1])"),
         {"inputs[0].shape[0]", "-1"});
  refuse(
      input(R"("shape": [1,1,1,1,1,1,1,1,1], "datatype": "FP32", "data": [1])"),
      {"9 dims"});
  // Products that would wrap around to something small.
  test::expect_error(ErrorCode::kExhausted, {"inputs[0].shape"}, [] {
    parsed(
        R"("shape": [4294967296, 4294967296, 4], "datatype": "FP32", "data": [1])");
  });
}

TEST(JsonRequest, RefusesWhatIsNoRequest) {
  refuse("", {"byte 0"});
  refuse("{}", {"inputs", "there are none"});
  refuse(R"({"inputs": []} x)", {"byte 15", "follows"});
  refuse(R"({"inptus": []})", {"inptus", "did you mean 'inputs'"});
  refuse(R"({"inputs": [1]})", {"byte 12", "'{' is due"});
  refuse(input(R"("shape": [1], "data": [1])"), {"inputs[0]", "no datatype"});
  refuse(input(R"("datatype": "FP32", "data": [1])"), {"no shape"});
  refuse(input(R"("shape": [1], "datatype": "FP32")"), {"no data"});
  refuse(input(R"("shape": [1], "datatype": "BYTES", "data": ["a"])"),
         {"inputs[0].datatype", "BYTES", "FP32"});
  std::string many = R"({"inputs": [{})";
  for (int i = 0; i < 1024; ++i) many += ",{}";
  refuse(many + "]}", {"inputs", "more than 1024"});
  refuse(R"({"parameters": {"timeout": 0}, "inputs": []})",
         {"parameters.timeout", "between 1 and"});
  refuse(std::string(100, '['), {"byte 0"});
  refuse(R"({"parameters": {"a": )" + std::string(100, '['),
         {"nested more than 32 deep"});
  for (const char* number :
       {"01", "1.", ".5", "+1", "1e", "--1", "nan", "0x1"}) {
    refuse(input(R"("shape": [1], "datatype": "FP32", "data": [)" +
                 std::string(number) + "]"),
           {"byte"});
  }
}

TEST(JsonRequest, ReadsEscapes) {
  const auto request = parse_infer_request(
      R"({"id": "a\"\\\n\u00e9\ud83d\ude00", "inputs":
          [{"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}]})");
  EXPECT_EQ(request.call.id, "a\"\\\n\u00e9\U0001F600");
  refuse(R"({"id": "\ud83d"})", {"half of a character"});
  refuse(R"({"id": "\x"})", {"no escape"});
  refuse("{\"id\": \"a\nb\"}", {"control character"});
}

std::string binary_input(std::size_t size) {
  return input(R"("shape": [2], "datatype": "FP32",
                  "parameters": {"binary_data_size": )" +
               std::to_string(size) + "}");
}

TEST(JsonRequest, BytesFollowTheJson) {
  const Tensor expected = Tensor::of<float>({2}, {1.5f, -2});
  const std::string head = binary_input(8);
  const std::string bytes(static_cast<const char*>(expected.raw()), 8);
  const auto request = parse_infer_request(head + bytes, head.size());
  EXPECT_TRUE(identical(request.call.inputs[0].tensor, expected));
  const auto refuse_bytes = [](const std::string& body, std::size_t size,
                               std::initializer_list<std::string> parts) {
    test::expect_error(ErrorCode::kInvalidArgument, parts,
                       [&] { parse_infer_request(body, size); });
  };
  refuse_bytes(head + bytes.substr(1), head.size(),
               {"binary_data_size is 8", "7 bytes"});
  refuse_bytes(head + bytes + "x", head.size(), {"1 bytes", "nothing"});
  refuse_bytes(head, head.size() + 1, {"Inference-Header-Content-Length"});
  const std::string wrong = binary_input(7);
  refuse_bytes(wrong + bytes.substr(1), wrong.size(), {"7 bytes do not fill"});
  const std::string negative = input(R"("shape": [0], "datatype": "FP32",
               "parameters": {"binary_data_size": -1})");
  refuse_bytes(negative, negative.size(), {"binary_data_size is -1"});
}

TEST(JsonRequest, ABoolIsZeroOrOne) {
  const std::string head = input(R"("shape": [2], "datatype": "BOOL",
               "parameters": {"binary_data_size": 2})");
  test::expect_error(ErrorCode::kInvalidArgument, {"inputs[0][1]", "255"}, [&] {
    parse_infer_request(head + std::string("\1\xff", 2), head.size());
  });
}

InferAnswer answer(const Tensor& output) {
  return {.model = "m", .version = "3", .id = "7", .outputs = {{"y", output}}};
}

TEST(JsonAnswer, IsWhatTheProtocolShows) {
  const auto written = serve::write_infer_answer(
      answer(Tensor::of<float>({1, 2}, {0.1f, 1e30f})), {});
  EXPECT_FALSE(written.json_size);
  const json read = json::parse(written.body);
  EXPECT_EQ(read, json::parse(R"({"model_name": "m", "model_version": "3",
    "id": "7", "outputs": [{"name": "y", "datatype": "FP32", "shape": [1, 2],
    "data": [0.1, 1e30]}]})"));
}

TEST(JsonAnswer, HasNoNumbersThatJsonHasNot) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto written = serve::write_infer_answer(
      answer(Tensor::of<float>({2}, {infinity, std::nanf("")})), {});
  EXPECT_EQ(json::parse(written.body)["outputs"][0]["data"],
            json::parse("[null, null]"));
}

TEST(JsonAnswer, BytesComeBehind) {
  const Tensor output = Tensor::of<std::int16_t>({2}, {-1, 7});
  const auto written =
      serve::write_infer_answer(answer(output), AnswerForm{.is_binary = true});
  ASSERT_TRUE(written.json_size);
  const json read = json::parse(written.body.substr(0, *written.json_size));
  EXPECT_EQ(read["outputs"][0]["parameters"]["binary_data_size"], 4);
  EXPECT_EQ(written.body.substr(*written.json_size),
            std::string(static_cast<const char*>(output.raw()), 4));
}

TEST(JsonAnswer, ErrorsAreJsonWhateverTheyQuote) {
  EXPECT_EQ(json::parse(serve::error_json("a \"b\"\n\xff"))["error"],
            "a \"b\"\n\uFFFD");
}

}  // namespace
}  // namespace weft::json_request_test
