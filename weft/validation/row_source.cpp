#include "weft/validation/row_source.h"

#include "weft/base/file.h"

namespace weft::validation {
namespace {

constexpr std::size_t kMostStatisticsBytes = std::size_t{4} << 30;

bool is_statistics_file(const RowRequest& request) {
  return std::filesystem::path(request.data).extension() == ".stats";
}

}  // namespace

std::unique_ptr<RowSource> open_rows(const RowRequest& request) {
  for (const RowSourceDef& def : row_source_registry().all()) {
    if (def.reads(request)) return def.open(request);
  }
  std::string known;
  for (const RowSourceDef& def : row_source_registry().all()) {
    known += (known.empty() ? "" : "; ") + def.summary;
  }
  throw Error(ErrorCode::kUnsupported, request.data,
              "nothing reads this as rows")
      .hint(known);
}

Statistics statistics_of(const RowRequest& request,
                         const StatisticsOptions& options) {
  if (is_statistics_file(request)) {
    Statistics kept = Statistics::from_bytes(
        read_text(request.data, kMostStatisticsBytes), request.data);
    if (kept.options().slices != options.slices ||
        kept.options().weight != options.weight) {
      throw Error(ErrorCode::kInvalidArgument, request.data,
                  "these statistics have another weight or other slices")
          .hint("make them anew with weft validate stats");
    }
    return kept;
  }
  const std::unique_ptr<RowSource> source = open_rows(request);
  Statistics statistics(options);
  ColumnBatch batch;
  while (source->next(batch)) statistics.add(batch);
  return statistics;
}

}  // namespace weft::validation
