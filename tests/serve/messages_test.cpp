#include "weft/serve/grpc/messages.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace weft::messages_test {
namespace {

using inference::ModelInferRequest;
using inference::ModelInferResponse;

ModelInferRequest request(const std::string& datatype,
                          std::initializer_list<std::int64_t> shape) {
  ModelInferRequest made;
  made.set_model_name("m");
  auto& input = *made.add_inputs();
  input.set_name("x");
  input.set_datatype(datatype);
  for (const std::int64_t dim : shape) input.add_shape(dim);
  return made;
}

void refuse(const ModelInferRequest& made,
            std::initializer_list<std::string> parts) {
  test::expect_error(ErrorCode::kInvalidArgument, parts,
                     [&] { serve::call_of(made); });
}

TEST(GrpcMessages, NumbersBecomeTensors) {
  ModelInferRequest made = request("FP32", {2, 1});
  auto& contents = *made.mutable_inputs(0)->mutable_contents();
  contents.add_fp32_contents(1.5f);
  contents.add_fp32_contents(-2);
  (*made.mutable_parameters())["timeout"].set_int64_param(2500);
  made.add_outputs()->set_name("y");
  const auto call = serve::call_of(made);
  EXPECT_EQ(call.model, "m");
  EXPECT_EQ(call.timeout, std::chrono::microseconds(2500));
  EXPECT_EQ(call.outputs, std::vector<std::string>{"y"});
  EXPECT_TRUE(
      identical(call.inputs[0].tensor, Tensor::of<float>({2, 1}, {1.5f, -2})));
}

TEST(GrpcMessages, BytesBecomeTensors) {
  ModelInferRequest made = request("INT16", {2});
  made.add_raw_input_contents(std::string("\1\0\xff\xff", 4));
  EXPECT_TRUE(identical(serve::call_of(made).inputs[0].tensor,
                        Tensor::of<std::int16_t>({2}, {1, -1})));
  made.mutable_inputs(0)->mutable_contents()->add_int_contents(1);
  refuse(made, {"inputs[0].contents", "not as both"});
}

TEST(GrpcMessages, WhatLiesIsRefused) {
  ModelInferRequest made = request("INT8", {1});
  made.mutable_inputs(0)->mutable_contents()->add_int_contents(128);
  refuse(made, {"inputs[0].contents.int_contents[0]", "128", "-128 to 127"});
  made = request("FP32", {3});
  made.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
  refuse(made, {"1 elements do not fill f32[3]"});
  made = request("FP32", {1});
  made.add_raw_input_contents("abc");
  refuse(made, {"raw_input_contents[0]", "3 bytes"});
  made.add_raw_input_contents("abcd");
  refuse(made, {"there are 2 for 1 inputs"});
  made = request("FP16", {1});
  refuse(made, {"FP16", "raw_input_contents"});
  made = request("FP32", {1});
  (*made.mutable_parameters())["timeout"].set_int64_param(-1);
  made.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
  refuse(made, {"parameters.timeout"});
  test::expect_error(ErrorCode::kExhausted, {"inputs[0].shape"}, [] {
    serve::call_of(request("FP32", {std::int64_t{1} << 40, 1 << 30}));
  });
}

TEST(GrpcMessages, AnswersComeInTheFormOfTheRequest) {
  const Tensor output = Tensor::of<std::int64_t>({2}, {-5, 6});
  const serve::InferAnswer answer{
      .model = "m", .version = "2", .id = "i", .outputs = {{"y", output}}};
  ModelInferResponse raw;
  serve::write(answer, true, raw);
  EXPECT_EQ(raw.model_version(), "2");
  EXPECT_EQ(raw.raw_output_contents(0),
            std::string(static_cast<const char*>(output.raw()), 16));
  ModelInferResponse numbers;
  serve::write(answer, false, numbers);
  EXPECT_EQ(numbers.raw_output_contents_size(), 0);
  EXPECT_EQ(numbers.outputs(0).datatype(), "INT64");
  EXPECT_EQ(numbers.outputs(0).contents().int64_contents(1), 6);
}

TEST(GrpcMessages, EachStatusHasACode) {
  using serve::grpc_status;
  using serve::Status;
  EXPECT_EQ(grpc_status(Status::kFull, "").error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(grpc_status(Status::kExpired, "").error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(grpc_status(Status::kBadRequest, "why").error_message(), "why");
}

}  // namespace
}  // namespace weft::messages_test
