// Tables of comma-separated values: *.csv, and *.data and *.test, as the
// repository of UCI calls them.
#include "weft/validation/csv_rows.h"

namespace weft {
namespace {

using validation::RowRequest;

bool reads_csv(const RowRequest& request) {
  const auto ending = std::filesystem::path(request.data).extension();
  return ending == ".csv" || ending == ".data" || ending == ".test";
}

std::unique_ptr<validation::RowSource> open_csv_rows(
    const RowRequest& request) {
  return std::make_unique<validation::CsvRows>(
      std::filesystem::path(request.data), request.header);
}

}  // namespace

void register_rows_csv(validation::RowSourceRegistry& registry) {
  registry.add({.name = "csv",
                .summary = "a table (.csv)",
                .reads = reads_csv,
                .open = open_csv_rows});
}

}  // namespace weft
