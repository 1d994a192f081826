#include "weft/files/safetensors.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_folder.h"

namespace weft::safetensors_test {
namespace {

using test::Bytes;
using test::expect_error;
using test::safetensors_file;
using test::TemporaryFolder;

const std::string kHeader =
    R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
    R"("b":{"dtype":"U8","shape":[2,1],"data_offsets":[8,10]}})";
const Bytes kData{0, 0, 128, 63, 0, 0, 0, 64, 7, 9};  // 1.0f, 2.0f, 7, 9

// The header with the first `from` replaced by `to`.
std::string edited(const std::string& from, const std::string& to) {
  std::string header = kHeader;
  return header.replace(header.find(from), from.size(), to);
}

void expect_damage(const std::string& header,
                   std::initializer_list<std::string> parts,
                   const Bytes& data = kData) {
  const Bytes file = safetensors_file(header, data);
  expect_error(ErrorCode::kDataLoss, parts,
               [&] { parse_safetensors(file, "w.safetensors"); });
  expect_error(ErrorCode::kDataLoss, {"w.safetensors", "byte "},
               [&] { parse_safetensors(file, "w.safetensors"); });
}

TEST(Safetensors, ReadsWhatOthersWrite) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "w.safetensors", safetensors_file("{\"__metadata__\":{\"k\":\"v\"}," +
                                            kHeader.substr(1) + "   ",
                                        kData));
  const SafetensorsFile file(path);
  EXPECT_EQ(file.entries().size(), 2u);
  EXPECT_EQ(file.metadata().at("k"), "v");
  EXPECT_TRUE(identical(file.read("a"), Tensor::of<float>({2}, {1, 2})));
  EXPECT_TRUE(
      identical(file.read("b"), Tensor::of<std::uint8_t>({2, 1}, {7, 9})));
  expect_error(ErrorCode::kInvalidArgument, {"'c'", "did you mean"},
               [&] { file.read("c"); });
}

TEST(Safetensors, ReadsBackWhatItWrites) {
  const TemporaryFolder folder;
  const auto path = folder / "w.safetensors";
  const std::vector<NamedTensor> tensors{
      {"bytes", Tensor::of<std::uint8_t>({3}, {1, 2, 3})},
      {"wide", Tensor::of<double>({1, 2}, {0.1, -2})},
      {"half", Tensor::of<bfloat16>({1}, {bfloat16(1.5f)})},
      {"flag", Tensor::of<bool>({2}, {true, false})},
      {"scalar", Tensor::scalar<float>(3)},
      {"nothing", Tensor::zeros({DType::kF32, {0, 4}})},
      {"odd \"name\"\n", Tensor::of<std::int64_t>({1}, {-1})}};
  write_safetensors(path, tensors, {{"text", "with \"quotes\""}});
  const SafetensorsFile file(path);
  EXPECT_EQ(file.entries().size(), tensors.size());
  EXPECT_EQ(file.metadata().at("text"), "with \"quotes\"");
  for (const auto& [name, tensor] : tensors) {
    EXPECT_TRUE(identical(file.read(name), tensor)) << name;
  }
  // The data and each tensor in it are aligned.
  for (const auto& entry : file.entries()) {
    EXPECT_EQ(entry.begin % size_of(entry.type.dtype), 0u) << entry.name;
  }
}

TEST(Safetensors, WritesTheSameBytesForTheSameTensors) {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors{{"b", Tensor::scalar<float>(1)},
                                         {"a", Tensor::scalar<float>(2)}};
  const std::vector<NamedTensor> reversed{tensors[1], tensors[0]};
  write_safetensors(folder / "1", tensors);
  write_safetensors(folder / "2", reversed);
  EXPECT_EQ(read_text(folder / "1"), read_text(folder / "2"));
}

TEST(Safetensors, RefusesNamesThatOccurTwice) {
  const TemporaryFolder folder;
  for (const char* name : {"a", "__metadata__"}) {
    const std::vector<NamedTensor> tensors{{"a", Tensor::scalar<float>(1)},
                                           {name, Tensor::scalar<float>(2)}};
    expect_error(ErrorCode::kInvalidArgument, {name},
                 [&] { write_safetensors(folder / "w", tensors); });
  }
}

TEST(Safetensors, WritesNoNamesThatNobodyReads) {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors{
      {"caf\xe9", Tensor::of<float>({1}, {1})}};
  expect_error(ErrorCode::kInvalidArgument, {"no UTF-8"},
               [&] { write_safetensors(folder / "w.safetensors", tensors); });
}

TEST(Safetensors, SeesEveryTruncation) {
  const Bytes file = safetensors_file(kHeader, kData);
  for (std::size_t size = 0; size < file.size(); ++size) {
    expect_error(ErrorCode::kDataLoss, {"w.safetensors", "byte "}, [&] {
      parse_safetensors(ByteSpan(file).first(size), "w.safetensors");
    });
  }
}

TEST(Safetensors, RefusesLengthsBeyondTheFile) {
  Bytes file = safetensors_file(kHeader, kData);
  for (const std::size_t byte : {1u, 3u, 7u}) {
    Bytes damaged = file;
    damaged[byte] = 0xff;
    expect_error(ErrorCode::kDataLoss, {"w.safetensors", "byte 0"},
                 [&] { parse_safetensors(damaged, "w.safetensors"); });
  }
}

TEST(Safetensors, RefusesBytesBehindTheLastTensor) {
  Bytes data = kData;
  data.push_back(1);
  expect_damage(kHeader, {"1 bytes behind"}, data);
  expect_damage("{}", {"10 bytes behind"});
}

TEST(Safetensors, RefusesBadJsonWithItsOffset) {
  expect_damage("", {"byte 8"});
  expect_damage("[]", {"byte 8"});
  expect_damage("{\"a\":", {"no JSON"});
  expect_damage(kHeader + "x", {"no JSON"});
  expect_damage(edited("\"a\"", "a"), {"byte 9", "no JSON"});
}

TEST(Safetensors, RefusesGapsAndOverlaps) {
  expect_damage(edited("[8,10]", "[7,9]"), {"'b'", "overlaps"});
  expect_damage(edited("[0,8]", "[1,9]"), {"'a'", "gap"});
  expect_damage(edited("[8,10]", "[0,2]"), {"overlaps"});
}

TEST(Safetensors, RefusesOffsetsAndShapesThatDisagree) {
  expect_damage(edited("[8,10]", "[8,11]"), {"'b'", "10 bytes"});
  expect_damage(edited("[8,10]", "[10,8]"), {"'b'"});
  expect_damage(edited("[8,10]", "[8]"), {"'b'", "two offsets"});
  expect_damage(edited("[8,10]", "[8,9,10]"), {"'b'", "two offsets"});
  expect_damage(edited("[2,1]", "[3,1]"), {"'b'", "u8[3, 1]", "2 bytes"});
  expect_damage(edited("\"F32\"", "\"F64\""), {"'a'", "f64[2]", "8 bytes"});
  // Products that are small again modulo 2^64.
  expect_damage(edited("[2,1]", "[9223372036854775807,2]"), {"'b'"});
  expect_damage(edited("[2,1]", "[4294967296,4294967296,2]"), {"'b'"});
}

TEST(Safetensors, RefusesValuesOfTheWrongType) {
  expect_damage(edited("[2,1]", "[2,-1]"), {"'b'", "negative"});
  expect_damage(edited("[2,1]", "[2.5]"), {"'b'", "fraction"});
  expect_damage(edited("[2,1]", "[[2]]"), {"'b'", "list"});
  expect_damage(edited("[2,1]", "[18446744073709551615]"), {"'b'", "large"});
  expect_damage(edited("[2,1]", "\"2\""), {"'b'", "string"});
  expect_damage(edited("[2,1]", "null"), {"'b'", "null"});
  expect_damage(edited("\"U8\"", "8"), {"'b'", "number"});
  expect_damage(edited("\"shape\":[2]", "\"x\":{\"y\":1}"), {"'a'", "object"});
  expect_damage(edited("\"shape\":[2],", ""), {"'a'", "lacks"});
  expect_damage("{\"a\":1}", {"'a'"});
  expect_damage("{\"__metadata__\":{\"k\":1}}", {"__metadata__"});
}

TEST(Safetensors, RefusesKeysThatOccurTwice) {
  expect_damage(edited("\"b\"", "\"a\""), {"'a'", "twice"});
  expect_damage(edited("\"shape\":[2],", "\"shape\":[2],\"shape\":[2],"),
                {"'a'", "twice"});
}

TEST(Safetensors, NamesDtypesAndRanksItHasNot) {
  const auto unsupported = [](const std::string& header, const char* part) {
    const Bytes file = safetensors_file(header, kData);
    expect_error(ErrorCode::kUnsupported, {"w.safetensors", part},
                 [&] { parse_safetensors(file, "w.safetensors"); });
  };
  unsupported(edited("\"U8\"", "\"F8_E4M3\""), "F8_E4M3");
  unsupported(edited("[2,1]", "[2,1,1,1,1,1,1,1,1]"), "dims");
}

TEST(Safetensors, RefusesBooleansThatAreNone) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "w.safetensors", safetensors_file(edited("\"U8\"", "\"BOOL\""), kData));
  const SafetensorsFile file(path);
  expect_error(ErrorCode::kDataLoss, {path.string(), "byte ", "'b'"},
               [&] { file.read("b"); });
}

TEST(Safetensors, NestingDoesNotExhaustTheStack) {
  expect_damage("{\"a\":" + std::string(100000, '['), {"'a'", "list"});
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  expect_damage(objects, {"'a'", "object"});
}

}  // namespace
}  // namespace weft::safetensors_test
