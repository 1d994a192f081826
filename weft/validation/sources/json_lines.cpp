// JSON lines: *.jsonl, also what weft serve --log-requests has written.
#include "weft/validation/json_rows.h"

namespace weft {
namespace {

using validation::RowRequest;

bool reads_json_lines(const RowRequest& request) {
  const auto ending = std::filesystem::path(request.data).extension();
  return ending == ".jsonl" || ending == ".ndjson";
}

std::unique_ptr<validation::RowSource> open_json_rows(
    const RowRequest& request) {
  return std::make_unique<validation::JsonRows>(
      std::filesystem::path(request.data));
}

}  // namespace

void register_rows_json_lines(validation::RowSourceRegistry& registry) {
  registry.add({.name = "json_lines",
                .summary = "an object a line (.jsonl)",
                .reads = reads_json_lines,
                .open = open_json_rows});
}

}  // namespace weft
