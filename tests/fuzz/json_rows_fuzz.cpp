#include <sstream>

#include "tests/fuzz/fuzz.h"

#include "weft/validation/check.h"
#include "weft/validation/infer.h"
#include "weft/validation/json_rows.h"
#include "weft/validation/report_page.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    namespace validation = weft::validation;
    validation::JsonRows rows(std::make_unique<std::istringstream>(
                                  std::string(weft::fuzz::text_of(data, size))),
                              "fuzz");
    validation::Statistics statistics;
    validation::ColumnBatch batch;
    while (rows.next(batch)) statistics.add(batch);
    const auto summary = summarize(statistics);
    const validation::Schema schema = infer_schema(summary);
    const auto report = check(schema, {.data = summary});
    WEFT_CHECK(report.anomalies.empty());
    validation::html_of({.title = "fuzz", .data = summary, .report = &report});
  });
}
