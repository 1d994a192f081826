// Census income (Kohavi, 1996): adult.data and adult.test, as UCI publishes
// them or with a header. What is told is whether somebody earns more than
// 50,000 dollars a year.
#include "weft/base/file.h"
#include "weft/data/registry.h"
#include "weft/data/table.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostAdultBytes = std::size_t{64} << 20;

// The publisher's files begin with a record, or with a remark ("|1x3 Cross
// validator"); copies of them often with a header.
std::size_t lines_before_records(std::string_view text) {
  return text.starts_with('|') || text.starts_with("age") ? 1 : 0;
}

TableOptions adult_defaults() {
  return {.label = {"income"},
          .format = {.names = {"age", "workclass", "fnlwgt", "education",
                               "education-num", "marital-status", "occupation",
                               "relationship", "race", "sex", "capital-gain",
                               "capital-loss", "hours-per-week",
                               "native-country", "income"}},
          .drops_label_dot = true};
}

DatasetSplits open_adult(const DataRequest& request) {
  TableOptions options = table_options(request.options, adult_defaults());
  const auto read = [&](const char* name, const Dataset* train) {
    const fs::path path = request.folder / name;
    const std::string text = read_text(path, kMostAdultBytes);
    // The two files differ in how they begin.
    options.format.skipped_lines = lines_before_records(text);
    return parse_table(text, path.string(), options, train);
  };
  DatasetSplits splits;
  splits.train = read("adult.data", nullptr);
  splits.test = read("adult.test", splits.train.get());
  return splits;
}

bool is_adult(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "adult.data", ignored) &&
         fs::is_regular_file(folder / "adult.test", ignored);
}

fs::path adult_table(const fs::path& folder) { return folder / "adult.data"; }

}  // namespace

void register_data_adult(DatasetRegistry& registry) {
  const std::string url =
      "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/";
  registry.add(
      {.name = "adult",
       .summary = "census income, 32,561 people to train on and 16,281 to test",
       .options = table_option_specs(adult_defaults()),
       .open = open_adult,
       .is_in = is_adult,
       .table = adult_table,
       .sources =
           {{url + "adult.data", "adult.data",
             "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c8"
             "6603d",
             3974305},
            {url + "adult.test", "adult.test",
             "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7"
             "e9c05",
             2003153}},
       .terms = "Kohavi and Becker, UCI; CC BY 4.0"});
}

}  // namespace weft
