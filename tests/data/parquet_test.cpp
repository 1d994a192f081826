#include "weft/data/parquet.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/data/fetch.h"
#include "weft/data/loader.h"
#include "weft/data/parquet_pieces.h"
#include "weft/data/piece_table.h"

namespace weft::parquet_test {
namespace {

namespace fs = std::filesystem;
using test::expect_error;

// Files that Arrow's Python package wrote: tests/data/parquet/make.py.
fs::path sample(const std::string& name) {
  return fs::path(WEFT_SOURCE_DIR) / "tests/data/parquet" / name;
}

// All values of a column; "-" where there is none.
std::vector<std::string> column(const std::string& name, ParquetFile& file) {
  const auto names = file.names();
  const auto place =
      static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
  std::vector<std::string> values;
  std::vector<ParquetTexts> columns;
  for (std::size_t group = 0; group < file.groups(); ++group) {
    file.begin(group, {place});
    // Two rows at a time end within pages.
    while (const auto rows = file.next(2, columns)) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
        values.emplace_back(columns[0].is_known[i] != 0 ? columns[0].values[i]
                                                        : "-");
      }
    }
  }
  return values;
}

TEST(ParquetFile, ReadsTheTypesThatATableHas) {
  ParquetFile file(sample("types.parquet"));
  const std::vector<std::pair<std::string, std::vector<std::string>>> wanted = {
      {"bool", {"true", "-", "false"}},
      {"int8", {"-128", "-", "127"}},
      {"int64", {"-9223372036854775808", "-", "9223372036854775807"}},
      {"uint32", {"4294967295", "-", "0"}},
      {"uint64", {"18446744073709551615", "-", "0"}},
      {"half", {"0.5", "-", "-2"}},
      // The shortest text of a float, and not of the double beside it.
      {"float", {"0.1", "-", "1e-40"}},
      {"double", {"0.1", "-", "nan"}},
      {"text", {"say \"a, b\"", "-", ""}},
      {"words", {"x", "-", "x"}},
      {"small_decimal", {"1.1", "-", "-0.01"}},
      {"decimal", {"12345678901234567168", "-", "-0.1"}},
      {"date", {"10", "-", "10"}},
      {"moment", {"1000", "-", "1000"}},
      {"whole", {"1", "2", "3"}}};
  EXPECT_EQ(file.names().size(), wanted.size());
  for (const auto& [name, values] : wanted) {
    EXPECT_EQ(column(name, file), values) << name;
  }
}

TEST(ParquetFile, ReadsDecimalsAndMomentsOfOlderPrograms) {
  ParquetFile file(sample("older.parquet"));
  EXPECT_EQ(column("small", file),
            (std::vector<std::string>{"1.1", "-", "-0.01"}));
  EXPECT_EQ(column("old", file),
            (std::vector<std::string>{"1000000000", "-", "1000000000"}));
}

TEST(ParquetFile, NamesWhatNoTableHas) {
  const ParquetFile file(sample("nested.parquet"));
  for (const auto& [place, name] : std::vector<std::pair<int, std::string>>{
           {1, "'tags' is of type list"},
           {3, "'raw' is of type FIXED_LEN_BYTE_ARRAY"}}) {
    expect_error(
        ErrorCode::kUnsupported, {"nested.parquet", name},
        [&, column = place] { file.check(static_cast<std::size_t>(column)); });
  }
  file.check(0);
}

// The rows of a column of lists: "-" for none, "[]", "[b,,c]".
std::vector<std::string> lists(const std::string& name, ParquetFile& file,
                               std::int64_t at_once) {
  const auto names = file.names();
  const auto place =
      static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
  std::vector<std::string> rows;
  std::vector<ParquetTexts> columns;
  for (std::size_t group = 0; group < file.groups(); ++group) {
    file.begin(group, {place});
    while (file.next(at_once, columns) > 0) {
      std::size_t next = 0;
      for (const std::int32_t length : columns[0].lengths) {
        const auto begin =
            columns[0].values.begin() + static_cast<std::ptrdiff_t>(next);
        rows.push_back(
            length < 0
                ? "-"
                : fmt::format("[{}]", fmt::join(begin, begin + length, ",")));
        next += static_cast<std::size_t>(std::max(length, 0));
      }
      EXPECT_EQ(next, columns[0].values.size());
    }
  }
  return rows;
}

// More rows are asked for at once than a page has.
TEST(ParquetFile, KeepsTextsOfPagesThatAreOver) {
  ParquetFile file(sample("pages.parquet"));
  std::vector<ParquetTexts> columns;
  for (const std::int64_t at_once : {7, 500}) {
    file.begin(0, {0, 1});
    std::size_t row = 0;
    while (file.next(at_once, columns) > 0) {
      for (std::size_t i = 0; i < columns[0].values.size(); ++i, ++row) {
        const std::string word =
            fmt::format("word {}{}", row, std::string(row % 7, '!'));
        EXPECT_EQ(columns[0].values[i], word);
        EXPECT_EQ(columns[1].values[2 * i], word);
        EXPECT_EQ(columns[1].values[2 * i + 1],
                  std::string(word.rbegin(), word.rend()));
      }
    }
    EXPECT_EQ(row, 500);
  }
}

// Pages and row groups end anywhere in the pattern, which comes 500 times.
TEST(ParquetFile, ReadsListsOfValues) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> wanted = {
      {"words", {"[a]", "-", "[]", "[b,,c]"}},
      {"sizes", {"[1,2]", "[3]", "-", "[]"}},
      {"flags", {"[]", "[true]", "[false,true]", "-"}}};
  for (const std::int64_t at_once : {1, 3, 2048}) {
    ParquetFile file(sample("lists.parquet"));
    for (const auto& [name, pattern] : wanted) {
      const std::vector<std::string> rows = lists(name, file, at_once);
      ASSERT_EQ(rows.size(), 2000);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        ASSERT_EQ(rows[i], pattern[i % 4]) << name << " " << i;
      }
    }
  }
}

TEST(ParquetFile, RefusesWhatIsNoListOfValues) {
  const ParquetFile deep(sample("deep.parquet"));
  EXPECT_EQ(deep.kind(0), ParquetKind::kNone);
  expect_error(ErrorCode::kUnsupported, {"'deep' is of type list"},
               [&] { deep.check(0); });
  ParquetFile holes(sample("holes.parquet"));
  expect_error(ErrorCode::kDataLoss, {"a list has a value that is null"},
               [&] { lists("holes", holes, 10); });
}

TEST(ParquetFile, FieldsOfAStructureAreColumns) {
  ParquetFile file(sample("nested.parquet"));
  EXPECT_EQ(file.names(), (std::vector<std::string>{"size", "tags", "place.x",
                                                    "raw", "label"}));
  EXPECT_EQ(column("place.x", file), (std::vector<std::string>{"1", "2"}));
}

TEST(ParquetFile, DamageIsLoud) {
  const std::string whole = read_text(sample("cakes.parquet"));
  const auto read = [](const std::string& text) {
    ParquetFile file(
        {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, "p");
    for (const std::string& name : file.names()) column(name, file);
  };
  read(whole);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{11}, whole.size() / 2, whole.size() - 1}) {
    expect_error(ErrorCode::kDataLoss, {"p: cannot be read as Parquet"},
                 [&] { read(whole.substr(0, size)); });
  }
  // A bit within the first page, whose checksum tells.
  std::string flipped = whole;
  flipped[200] ^= 1;
  expect_error(ErrorCode::kDataLoss, {"p: cannot be read as Parquet"},
               [&] { read(flipped); });
}

// Every row as bits.
std::vector<float> numbers_of(const Dataset& data) {
  const auto width = data.features()[0].type.shape[0];
  std::vector<float> all;
  Tensor row = Tensor::zeros({DType::kF32, {1, width}});
  Tensor label = Tensor::zeros({data.features()[1].type.dtype, {1}});
  for (std::int64_t i = 0; i < data.size(); ++i) {
    data.read({&i, 1}, std::vector{row.view(), label.view()});
    for (std::int64_t c = 0; c < width; ++c) {
      all.push_back(static_cast<float>(row.item(c)));
    }
    all.push_back(static_cast<float>(label.item()));
  }
  return all;
}

DatasetSplits cakes(const std::string& name, const std::string& file,
                    Options options) {
  options.emplace("ignore", std::string("kind"));
  return open_data(
      {.name = name, .folder = sample(file), .options = std::move(options)});
}

// The types say that "00" is a text and a price a number to be told.
TEST(ParquetReader, IsTheSameTableAsCsv) {
  for (const std::string label : {"heavy", "price", "layers"}) {
    const auto csv =
        cakes("csv", "cakes.csv",
              {{"label", label}, {"categories", std::string("code")}});
    for (const std::string file : {"cakes.parquet", "parts"}) {
      for (const std::int64_t mixed : {0, 1, 2}) {
        const auto found =
            cakes("parquet", file, {{"label", label}, {"mixed", mixed}});
        EXPECT_EQ(found.train->classes(), csv.train->classes());
        EXPECT_EQ(found.train->target_scale().std,
                  csv.train->target_scale().std);
        EXPECT_EQ(found.train->category_counts(), csv.train->category_counts());
        EXPECT_EQ(numbers_of(*found.train), numbers_of(*csv.train));
        EXPECT_EQ(numbers_of(*found.test), numbers_of(*csv.test));
      }
    }
  }
}

TEST(ParquetReader, ReadsTheTestPartAsTheTrainingPart) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "train");
  fs::copy(sample("parts/part-0.parquet"), folder / "train/0.parquet");
  fs::copy(sample("parts/part-1.parquet"), folder / "test.parquet");
  const auto splits = open_data({.name = "parquet", .folder = folder.path()});
  EXPECT_EQ(splits.train->size(), 250);
  EXPECT_EQ(splits.test->size(), 350);
  EXPECT_EQ(splits.test->table(), splits.train->table());
}

TEST(ParquetReader, PartsMustHaveTheSameColumns) {
  const test::TemporaryFolder folder;
  fs::copy(sample("parts/part-0.parquet"), folder / "0.parquet");
  fs::copy(sample("older.parquet"), folder / "1.parquet");
  expect_error(ErrorCode::kDataLoss, {"1.parquet", "other columns than"}, [&] {
    open_data({.name = "parquet", .folder = folder.path()});
  });
}

TEST(ParquetReader, IgnoredColumnsMayBeOfAnyType) {
  const auto open = [](const std::string& ignored) {
    return open_data({.name = "parquet",
                      .folder = sample("nested.parquet"),
                      .options = {{"ignore", ignored}}});
  };
  EXPECT_EQ(open("tags,place.x,raw").train->size(), 1);
  expect_error(ErrorCode::kUnsupported, {"'tags'", "data.ignore"},
               [&] { open("place.x,raw"); });
  expect_error(ErrorCode::kInvalidArgument, {"'place'", "'place.x'"},
               [&] { open("tags,raw,place"); });
}

// What a batch is made of lies in the row groups that are mixed.
TEST(ParquetReader, ShufflesWithinRowGroups) {
  const auto splits =
      cakes("parquet", "cakes.parquet",
            {{"label", std::string("heavy")}, {"mixed", std::int64_t{1}}});
  EXPECT_EQ(splits.train->blocks(),
            (std::vector<std::int64_t>{80, 160, 240, 320, 400, 480}));
  EXPECT_EQ(splits.train->mixed_blocks(), 1);
}

TEST(ParquetReader, NotForBatchesByChance) {
  const auto splits =
      cakes("parquet", "cakes.parquet",
            {{"label", std::string("heavy")}, {"mixed", std::int64_t{1}}});
  LoaderOptions options{.batch = 32};
  options.poisson.emplace().expected = 32;
  expect_error(ErrorCode::kInvalidArgument, {"data.mixed = 0"},
               [&] { Loader(splits.train, options); });
}

}  // namespace
}  // namespace weft::parquet_test
