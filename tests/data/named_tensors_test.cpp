#include "weft/data/named_tensors.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/data/fetch.h"
#include "weft/data/hdf5.h"
#include "weft/data/table.h"
#include "weft/files/safetensors.h"

namespace weft::named_tensors_test {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::TemporaryFolder;

// Files that h5py wrote: tests/data/hdf5/make.py.
fs::path sample(const std::string& name) {
  return fs::path(WEFT_SOURCE_DIR) / "tests/data/hdf5" / name;
}

std::vector<double> example(const Dataset& data, std::int64_t row) {
  std::vector<double> numbers;
  std::vector<Tensor> tensors;
  std::vector<TensorView> views;
  for (const Feature& feature : data.features()) {
    TensorType type{feature.type.dtype, {1}};
    for (const Dim dim : feature.type.shape) type.shape.push_back(dim);
    tensors.push_back(Tensor::zeros(type));
    views.push_back(tensors.back().view());
  }
  data.read({&row, 1}, views);
  for (const Tensor& tensor : tensors) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      numbers.push_back(tensor.item(i));
    }
  }
  return numbers;
}

void write_points(const fs::path& path) {
  write_safetensors(
      path,
      std::vector<NamedTensor>{
          {"x", Tensor::of<float>({5, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})},
          {"w", Tensor::of<std::uint8_t>({5}, {9, 8, 7, 6, 5})},
          {"y", Tensor::of<std::int64_t>({5}, {0, 1, 2, 1, 0})}});
}

TEST(SafetensorsReader, TheLabelIsCalledSo) {
  const TemporaryFolder folder;
  write_points(folder / "train.safetensors");
  write_points(folder / "test.safetensors");
  const auto splits =
      open_data({.name = "safetensors", .folder = folder.path()});
  EXPECT_EQ(splits.train->classes(), (std::vector<std::string>{"0", "1", "2"}));
  // Inputs come by name; labels of 64 bits become those that are trained on.
  ASSERT_EQ(splits.train->features().size(), 3u);
  EXPECT_EQ(splits.train->features()[0].name, "w");
  EXPECT_EQ(splits.train->features()[2].type, (TensorType{DType::kI32, {}}));
  EXPECT_EQ(example(*splits.test, 2), (std::vector<double>{7, 4, 5, 2}));
}

TEST(SafetensorsReader, OptionsNameInputsAndLabel) {
  const TemporaryFolder folder;
  write_points(folder / "p.safetensors");
  const auto open = [&](Options options) {
    return open_data({.name = "safetensors",
                      .folder = folder / "p.safetensors",
                      .options = std::move(options)});
  };
  const auto splits =
      open({{"inputs", std::string("x")}, {"label", std::string("w")}});
  EXPECT_EQ(splits.train->size(), 4);
  EXPECT_EQ(example(*splits.train, 0), (std::vector<double>{2, 3, 8}));
  expect_error(ErrorCode::kInvalidArgument, {"no tensor 'pixels'", "w, x, y"},
               [&] {
                 open({{"inputs", std::string("pixels")}});
               });
  expect_error(ErrorCode::kInvalidArgument, {"data.inputs", "'y' is the label"},
               [&] {
                 open({{"inputs", std::string("x, y")}});
               });
}

TEST(SafetensorsReader, RefusesWhatIsNoDataSet) {
  const auto expect = [](ErrorCode code, const std::string& said,
                         const std::vector<NamedTensor>& tensors) {
    const TemporaryFolder folder;
    write_safetensors(folder / "p.safetensors", tensors);
    expect_error(code, {"p.safetensors", said}, [&] {
      open_data({.name = "safetensors", .folder = folder / "p.safetensors"});
    });
  };
  const NamedTensor x{"x", Tensor::zeros({DType::kF32, {2, 3}})};
  expect(ErrorCode::kInvalidArgument, "data.label", {x});
  expect(ErrorCode::kInvalidArgument, "nothing to predict it from",
         {{"y", Tensor::zeros({DType::kI32, {2}})}});
  expect(ErrorCode::kInvalidArgument, "has 3",
         {x, {"y", Tensor::zeros({DType::kI32, {3}})}});
  expect(ErrorCode::kDataLoss, "no number of a class",
         {x, {"y", Tensor::of<std::int64_t>({2}, {0, std::int64_t{1} << 40})}});
}

TEST(TensorFiles, PartsMustBeAlike) {
  const TemporaryFolder folder;
  write_points(folder / "train.safetensors");
  write_safetensors(
      folder / "test.safetensors",
      std::vector<NamedTensor>{{"x", Tensor::zeros({DType::kF32, {1, 3}})},
                               {"w", Tensor::zeros({DType::kU8, {1}})},
                               {"y", Tensor::zeros({DType::kI32, {1}})}});
  expect_error(
      ErrorCode::kDataLoss, {"test.safetensors", "'x' is f32[3]"},
      [&] { open_data({.name = "safetensors", .folder = folder.path()}); });
}

TEST(Hdf5File, ReadsNumbersOfAllSizes) {
  Hdf5File file(sample("types.h5"));
  EXPECT_EQ(file.names().front(), "label");
  for (const auto& [name, dtype, least, most] :
       std::vector<std::tuple<std::string, DType, double, double>>{
           {"u8", DType::kU8, 0, 255},
           {"i8", DType::kI8, -128, 127},
           {"u16", DType::kI32, 0, 65535},
           {"i16", DType::kI16, -32768, 32767},
           {"u32", DType::kI64, 0, 4294967295.0},
           {"i64", DType::kI64, -9223372036854775808.0, 9223372036854775807.0},
           {"f16", DType::kF32, -2.5, 1.5},
           {"f32", DType::kF32, -2.5, 1.5},
           {"f64", DType::kF32, -2.5, 1.5}}) {
    const std::string full = "numbers/" + name;
    const Tensor values = Tensor::zeros(file.open(full));
    EXPECT_EQ(values.type(), (TensorType{dtype, {3, 1}})) << name;
    file.read(full, 0, 3, values.raw());
    EXPECT_EQ(values.item(0), least) << name;
    EXPECT_EQ(values.item(1), 1) << name;
    EXPECT_EQ(values.item(2), most) << name;
  }
}

TEST(Hdf5File, NamesWhatIsNoNumber) {
  Hdf5File file(sample("types.h5"));
  for (const auto& [name, said] :
       std::vector<std::pair<std::string, std::string>>{
           {"words", "has no numbers"},
           {"u64", "uint64"},
           {"scalar", "0 axes"}}) {
    expect_error(ErrorCode::kUnsupported, {"types.h5", "'" + name + "'", said},
                 [&, name = name] { file.open(name); });
  }
}

TEST(Hdf5File, DamageIsLoud) {
  const TemporaryFolder folder;
  std::string text = read_text(sample("points.h5"));
  expect_error(ErrorCode::kDataLoss, {"half.h5", "no HDF5 file"}, [&] {
    Hdf5File(folder.write("half.h5", text.substr(0, text.size() / 2)));
  });
  // Chunks have checksums.
  const std::size_t chunk = text.find("\x78\x5e");  // where deflate begins
  ASSERT_NE(chunk, text.npos);
  text[chunk + 40] ^= 1;
  Hdf5File file(folder.write("flipped.h5", text));
  const Tensor values = Tensor::zeros(file.open("x"));
  expect_error(ErrorCode::kDataLoss, {"flipped.h5", "'x' cannot be read"},
               [&] { file.read("x", 0, 150, values.raw()); });
  expect_error(ErrorCode::kUnavailable, {"none.h5"},
               [&] { Hdf5File(folder / "none.h5"); });
}

TEST(Hdf5Reader, IsTheSameDataAsCsv) {
  const auto csv = open_data({.name = "csv",
                              .folder = sample("points.csv"),
                              .options = {{"standardize", false}}});
  for (const std::int64_t mixed : {0, 2}) {
    const auto found = open_data({.name = "hdf5",
                                  .folder = sample("points.h5"),
                                  .options = {{"mixed", mixed}}});
    EXPECT_EQ(found.train->classes(), csv.train->classes());
    EXPECT_EQ(found.train->mixed_blocks(), mixed);
    // Chunks of 16 rows, less a fifth.
    EXPECT_EQ(found.train->blocks().front(), 12);
    ASSERT_EQ(found.train->size(), csv.train->size());
    for (std::int64_t row = 0; row < csv.train->size(); ++row) {
      EXPECT_EQ(example(*found.train, row), example(*csv.train, row));
    }
  }
}

}  // namespace
}  // namespace weft::named_tensors_test
