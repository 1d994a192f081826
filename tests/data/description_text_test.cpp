// What is known of data, written down and read again.
#include "weft/data/description_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/errors.h"

#include "weft/data/registry.h"
#include "weft/data/table.h"
#include "weft/data/tensor_set.h"

namespace weft::description_text_test {
namespace {

using test::expect_error;

DatasetRef rows() {
  return parse_table(
      "size,colour,price\n1,red,3\n2,blue,5\n?,red,4\n3,\"a,b\",1.5\n", "t.csv",
      {.label = {"price"}, .numbers = {"price"}});
}

TEST(DescriptionText, ComesBackAsItWas) {
  const Tensor pixels = Tensor::zeros({DType::kU8, {2, 3, 4, 1}});
  const Tensor labels = Tensor::of<std::int32_t>({2}, {0, 1});
  const DatasetRef images = tensor_set(
      "pictures", {{"image", pixels}, {"label", labels}}, {"cat", "dög\n"});
  for (const DatasetRef& data : {images, rows()}) {
    const std::string text = to_json(*data);
    const auto again = parse_description(text, "here");
    EXPECT_EQ(to_json(*again), text);
    EXPECT_EQ(again->name(), data->name());
    EXPECT_EQ(again->classes(), data->classes());
    EXPECT_EQ(again->features()[0].type, data->features()[0].type);
    EXPECT_EQ(again->pixel_scale().std, data->pixel_scale().std);
  }
}

// A text of single bytes has classes that are no UTF-8.
TEST(DescriptionText, KeepsBytesThatAreNoText) {
  const Tensor pixels = Tensor::zeros({DType::kU8, {2, 3, 4, 1}});
  const Tensor labels = Tensor::of<std::int32_t>({2}, {0, 1});
  const DatasetRef data = tensor_set(
      "caf\xe9", {{"image", pixels}, {"label", labels}}, {"\xc3", "\xa9"});
  const auto again = parse_description(to_json(*data), "here");
  EXPECT_EQ(again->name(), "caf\xe9");
  EXPECT_EQ(again->classes(), data->classes());
}

// A person's row becomes the same numbers, wherever the columns come from.
TEST(DescriptionText, ReadsRowsAsTheirDataDid) {
  const DatasetRef data = rows();
  const auto again = parse_description(to_json(*data), "here");
  ASSERT_NE(again->table(), nullptr);
  EXPECT_EQ(again->table()->label_columns, std::vector<std::string>{"price"});
  const std::vector<std::vector<std::string_view>> people = {
      {"2.5", "red"}, {"", "a,b"}, {"-1e3", "green"}};
  for (const auto& fields : people) {
    std::vector<float> expected(3);
    std::vector<float> told(3);
    data->table()->columns.encode(fields, expected.data(), "a");
    again->table()->columns.encode(fields, told.data(), "a");
    EXPECT_EQ(told, expected);
  }
}

TEST(DescriptionText, RefusesDamage) {
  using Json = nlohmann::ordered_json;
  const Json whole = Json::parse(to_json(*rows()));
  const auto expect_damaged = [&](const char* place, const Json& value,
                                  const char* said) {
    Json json = whole;
    json[Json::json_pointer(place)] = value;
    expect_error(ErrorCode::kDataLoss, {"here", said},
                 [&] { parse_description(json.dump(), "here"); });
  };
  expect_damaged("/features", Json::array(), "no features");
  expect_damaged("/features/0/dtype", "f31", "no dtype");
  expect_damaged("/features/0/dims", {0}, "cannot be");
  expect_damaged("/features/0/dims", {1 << 30, 1 << 30, 1 << 30}, "cannot be");
  expect_damaged("/features/0/dims", {1.5}, "no whole number");
  expect_damaged("/features/0/dims", {1, 1, 1, 1, 1, 1, 1, 1}, "too many dims");
  expect_damaged("/features/0/dims", {4}, "such rows");
  expect_damaged("/features/0/varying", {1}, "not there");
  expect_damaged("/classes", 3, "damaged");
  expect_damaged("/classes", {{256}}, "no byte");
  expect_damaged("/pixel_scale/mean", {1}, "does not fit");
  expect_damaged("/target_scale/std", 0, "scaled by");
  expect_damaged("/table/columns/1/categories", {"b", "a"}, "not sorted");
  expect_damaged("/table/labels", Json::array(), "such rows");
  expect_damaged("/lanes", "many", "no whole number");
  Json newer = whole;
  newer["format"] = 2;
  expect_error(ErrorCode::kUnsupported, {"another format"},
               [&] { parse_description(newer.dump(), "here"); });
  expect_error(ErrorCode::kDataLoss, {"here"},
               [&] { parse_description("{", "here"); });
}

}  // namespace
}  // namespace weft::description_text_test
