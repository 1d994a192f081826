#include "tests/fuzz/fuzz.h"

#include "weft/validation/check.h"
#include "weft/validation/csv_rows.h"
#include "weft/validation/infer.h"
#include "weft/validation/report_json.h"

// Any table has statistics and a schema, which it fulfils.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    namespace validation = weft::validation;
    validation::CsvRows rows(weft::fuzz::text_of(data, size), "fuzz", "auto");
    validation::Statistics statistics;
    validation::ColumnBatch batch;
    while (rows.next(batch)) statistics.add(batch);
    const auto summary = summarize(statistics);
    validation::to_json(summary).dump();
    const validation::Schema schema = infer_schema(summary);
    WEFT_CHECK(check(schema, {.data = summary}).anomalies.empty());
  });
}
