// Images that are decoded: what they are, and what a schema says of them.
#include "weft/validation/image_counts.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/sample_files.h"
#include "tests/validation/tables.h"

#include "weft/data/image.h"
#include "weft/validation/check.h"
#include "weft/validation/example_check.h"
#include "weft/validation/examples.h"
#include "weft/validation/image_text.h"
#include "weft/validation/infer.h"
#include "weft/validation/schema_edit.h"
#include "weft/validation/schema_text.h"

namespace weft::image_counts_test {
namespace {

using namespace validation;
using test::Bytes;
using test::expect_error;
using test::summary_of_table;

std::string text_of_file(const Bytes& file) {
  return image_text_of(
      {reinterpret_cast<const char*>(file.data()), file.size()});
}

std::string png(std::uint32_t height, std::uint32_t width,
                std::uint32_t channels = 1) {
  return text_of_file(test::png_file(
      height, width, channels,
      Bytes(std::size_t{height} * width * channels, std::uint8_t{7})));
}

std::string jpeg(std::uint32_t height, std::uint32_t width) {
  return text_of_file(test::jpeg_file(
      height, width, 3, Bytes(std::size_t{3} * height * width, 100)));
}

// Width, height, channels and depth, as "2 1 4 8"; or why it has none.
std::string measured(const std::string& text) {
  ImageCounts counts;
  counts.add(text);
  if (counts.decoded == 0) return counts.reason;
  std::string all;
  for (const ImageCounts::Ends& ends : counts.ends) {
    EXPECT_EQ(ends.least, ends.most);
    all += fmt::format("{}{}", all.empty() ? "" : " ", ends.least);
  }
  return all;
}

TEST(ImageCounts, MeasureWhatFilesHold) {
  EXPECT_EQ(measured(png(3, 5)), "5 3 1 8");
  EXPECT_EQ(measured("data:image/png;base64," + png(3, 5, 3)), "5 3 3 8");
  EXPECT_EQ(measured(jpeg(20, 30)), "30 20 3 8");
  // Colours with transparency, grey of 16 bits, and a palette of two colours:
  // files that are laid out by hand.
  EXPECT_EQ(measured("iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAYAAAD0In+KAAAAC0lEQVR4"
                     "nGNghAIAAC0ACT6C+rQAAAAASUVORK5CYII="),
            "2 1 4 8");
  EXPECT_EQ(measured("iVBORw0KGgoAAAANSUhEUgAAAAEAAAACEAAAAADsejW4AAAADklEQVR4"
                     "nGNgZGJgZgEAAB0ACw21UgYAAAAASUVORK5CYII="),
            "1 2 1 16");
  EXPECT_EQ(measured("iVBORw0KGgoAAAANSUhEUgAAAAIAAAABAQMAAADO7O3JAAAABlBMVEUB"
                     "AgMEBQaVU29IAAAACklEQVR4nGNwAAAAQgBBKTf07wAAAABJRU5ErkJg"
                     "gg=="),
            "2 1 3 8");
}

TEST(ImageCounts, SayWhyOthersCannotBeDecoded) {
  std::string cut = png(40, 40);
  cut.resize(cut.size() / 2);
  EXPECT_NE(measured(cut).find("damaged PNG: the file ends too early"),
            std::string::npos);
  EXPECT_NE(measured(std::string(pixel_text("gif"))).find("neither a PNG nor"),
            std::string::npos);
  // 6,000 x 6,000 pixels of nothing in 60 kB: no reason to take 36 MB.
  const Image large{6000, 6000, 1, std::vector<std::uint8_t>(36'000'000)};
  EXPECT_EQ(measured(image_text_of(encode_png(large))),
            "6000 x 6000 pixels are more than are decoded");
  ImageCounts counts;
  counts.add("cat.png");
  EXPECT_EQ(counts, ImageCounts());
}

TEST(ImageCounts, AreWrittenAsTheyAreRead) {
  for (const std::size_t size : {0, 1, 2, 3, 4, 100}) {
    std::string file = "\x89PNG\r\n\x1a\n";
    for (std::size_t i = 0; i < size; ++i) file += static_cast<char>(37 * i);
    EXPECT_EQ(image_file_of(image_text_of(file)), file) << size;
  }
}

std::string table_of_images(const std::vector<std::string>& images) {
  std::string table = "id,x\n";
  for (std::size_t i = 0; i < images.size(); ++i) {
    table += fmt::format("{},{}\n", i, images[i]);
  }
  return table;
}

// Values are cut where they are kept, and images are larger: what they are must
// not follow from what is kept.
TEST(ImageCounts, AreTheSameWhateverThePartsAndHowMany) {
  std::vector<std::string> images;
  for (std::uint32_t i = 1; i <= 40; ++i) {
    // Noise, which does not become short.
    Bytes pixels;
    for (std::uint32_t k = 0; k < 30 * i; ++k) {
      pixels.push_back(static_cast<std::uint8_t>(k * k * 2654435761u >> 13));
    }
    images.push_back(text_of_file(test::png_file(30, i, 1, pixels)));
  }
  images[39].resize(images[39].size() - 60);
  ASSERT_GT(images[38].size(), 2 * kMostKeptBytes);
  StatisticsOptions options{.exact_values = 8, .images = {"x"}};
  const ImageCounts whole =
      *summary_of_table(table_of_images(images), options).find("x")->images;
  EXPECT_EQ(whole.decoded, 39u);
  EXPECT_EQ(whole.undecoded, 1u);
  EXPECT_EQ(whole.ends[0], (ImageCounts::Ends{1, 39}));
  EXPECT_EQ(whole.ends[1], (ImageCounts::Ends{30, 30}));

  Statistics parts(options);
  for (std::size_t begin : {20u, 0u, 30u, 10u}) {
    const std::vector<std::string> some(images.begin() + begin,
                                        images.begin() + begin + 10);
    const std::string table = table_of_images(some);
    CsvRows rows(table, "part.csv", "yes");
    Statistics part(options);
    ColumnBatch batch;
    while (rows.next(batch)) part.add(batch);
    parts.merge(Statistics::from_bytes(part.to_bytes(), "part"));
  }
  EXPECT_EQ(*summarize(parts).find("x")->images, whole);
  options.exact_values = 4096;
  EXPECT_EQ(
      *summary_of_table(table_of_images(images), options).find("x")->images,
      whole);
}

constexpr const char* kSchema = R"([feature.id]

[feature.x]
type = "string"
domain = "image"   # as the camera writes them
width = { min = 8, max = 16 }
height = { min = 8 }
channels = { min = 1, max = 1 }
)";

StatisticsSummary counted(const Schema& schema,
                          const std::vector<std::string>& images) {
  return summary_of_table(table_of_images(images), statistics_options(schema));
}

TEST(ImageCounts, AreHeldToWhatASchemaSays) {
  const Schema schema = parse_schema(kSchema, "test");
  const auto fit = counted(schema, {png(8, 8), png(200, 16)});
  EXPECT_TRUE(check(schema, {.data = fit}).anomalies.empty());

  const auto others = counted(schema, {png(8, 8), png(7, 20, 3)});
  const CheckReport report = check(schema, {.data = others});
  std::string found;
  for (const Anomaly& anomaly : report.anomalies) {
    found += anomaly.kind + ": " + anomaly.detail + "\n" + anomaly.edit;
  }
  EXPECT_EQ(found,
            "image_size: width of 8 to 20, and 8 to 16 are due\n"
            "feature.x.width = { min = 8, max = 16 } → { min = 8, max = 20 }\n"
            "image_size: height of 7 to 8, and at least 8 is due\n"
            "feature.x.height = { min = 8 } → { min = 7 }\n"
            "image_channels: channels of 1 to 3, and 1 is due\n"
            "feature.x.channels = { min = 1, max = 1 } → { min = 1, max = 3 "
            "}\n");
  EXPECT_TRUE(check(report.repaired, {.data = others}).anomalies.empty());
  const std::string edited = edit_schema(kSchema, "test", report.repaired);
  EXPECT_EQ(parse_schema(edited, "edited"), report.repaired);
  EXPECT_NE(edited.find("# as the camera writes them"), std::string::npos);

  Schema lenient = schema;
  lenient.severity["image_size"] = Severity::kWarning;
  const auto wide = counted(schema, {png(8, 20)});
  EXPECT_FALSE(check(lenient, {.data = wide}).has_errors());
}

TEST(ImageCounts, MayBeDamagedInTheShareThatIsAllowed) {
  Schema schema = parse_schema(kSchema, "test");
  std::string cut = png(8, 8);
  cut.resize(cut.size() - 20);
  const auto damaged = counted(schema, {png(8, 8), png(9, 8), cut});
  const CheckReport report = check(schema, {.data = damaged});
  ASSERT_EQ(report.anomalies.size(), 1u);
  EXPECT_EQ(report.anomalies[0].kind, "undecoded_image");
  EXPECT_TRUE(
      report.anomalies[0].detail.starts_with("1 of 3 values (33.3 %): byte "));
  EXPECT_EQ(report.repaired.find("x")->min_domain_mass, 0.6666);
  EXPECT_TRUE(check(report.repaired, {.data = damaged}).anomalies.empty());
  // None that can be: bounds are of nothing.
  const auto none = counted(schema, {cut, cut});
  const Schema without = check(schema, {.data = none}).repaired;
  EXPECT_FALSE(without.find("x")->decodes_images());
  EXPECT_TRUE(check(without, {.data = none}).anomalies.empty());
}

TEST(ImageCounts, CannotBeToldFromStatisticsWithoutThem) {
  const Schema schema = parse_schema(kSchema, "test");
  const auto without = summary_of_table(table_of_images({png(8, 8)}));
  const CheckReport report = check(schema, {.data = without});
  ASSERT_EQ(report.anomalies.size(), 1u);
  EXPECT_NE(report.anomalies[0].detail.find("count the data with the schema"),
            std::string::npos);
}

TEST(ImageCounts, NameTheRowsThatDoNotFit) {
  Schema schema = parse_schema(kSchema, "test");
  // A share may be damaged, and none too wide.
  schema.find("x")->min_domain_mass = 0.5;
  const std::string table =
      table_of_images({png(8, 8), png(8, 20), "cat.png", png(8, 8)});
  CsvRows rows(table, "test.csv", "yes");
  const auto struck = check_examples(schema, rows, {});
  ASSERT_EQ(struck.size(), 1u);
  EXPECT_EQ(struck.begin()->first,
            std::pair(std::string("x"), std::string("image_size")));
  EXPECT_EQ(struck.begin()->second.first, std::vector<std::uint64_t>{2});
}

TEST(ImageCounts, StandInTheTextOfASchema) {
  const Schema schema = parse_schema(kSchema, "test");
  EXPECT_EQ(parse_schema(to_toml(schema), "again"), schema);
  const auto refused = [](const std::string& rule, const std::string& why) {
    expect_error(ErrorCode::kInvalidArgument, {why},
                 [&] { parse_schema("[feature.x]\n" + rule, "test"); });
  };
  refused("width = { min = 1 }\n", "width: it is of the domain \"image\"");
  refused("domain = \"image\"\ndepth = { min = 16, max = 8 }\n",
          "depth: min is above max");
  refused("domain = \"image\"\nheight = 8\n", "{ min = …, max = … } is due");
  refused("domain = \"image\"\nchannels = { most = 3 }\n", "no such key");
}

TEST(ImageCounts, AreSuggestedAsRanges) {
  std::vector<std::string> images;
  for (std::uint32_t i = 0; i < 30; ++i) images.push_back(png(8, 8 + i % 5));
  const auto data =
      summary_of_table(table_of_images(images), {.images = {"x"}});
  const Schema schema = infer_schema(data, {.suggests_ranges = true});
  const auto& bounds = schema.find("x")->image;
  EXPECT_EQ(bounds[0], (ListBounds{8, 12}));
  EXPECT_EQ(bounds[3], (ListBounds{8, 8}));
  EXPECT_TRUE(check(schema, {.data = data}).anomalies.empty());
  EXPECT_FALSE(infer_schema(data).find("x")->decodes_images());
}

// Programs are tried on images as large as the schema says.
TEST(ImageCounts, AreMadeWithinTheirBounds) {
  Schema schema = parse_schema(kSchema, "test");
  const Examples examples =
      make_examples(schema, 40, /*seed=*/1, "", ExampleFormat::kJsonLines);
  ImageCounts made;
  for (const auto& row : examples.rows) {
    if (row[1]) made.add(row[1]->text);
  }
  EXPECT_EQ(made.undecoded, 0u);
  EXPECT_EQ(made.ends[0], (ImageCounts::Ends{8, 16}));
  EXPECT_EQ(made.ends[1], (ImageCounts::Ends{8, 256}));
  EXPECT_EQ(made.ends[2], (ImageCounts::Ends{1, 1}));
  schema.find("x")->format = "jpeg";
  expect_error(ErrorCode::kUnsupported, {"x", "PNG files of 8 bits"}, [&] {
    make_examples(schema, 10, 1, "", ExampleFormat::kJsonLines);
  });
}

}  // namespace
}  // namespace weft::image_counts_test
