#include <string>

#include "tests/fuzz/fuzz.h"

#include "weft/validation/schema_edit.h"

// What is accepted is written so that it is read back as the same, and can be
// edited.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    namespace validation = weft::validation;
    const std::string_view text = weft::fuzz::text_of(data, size);
    validation::Schema schema = validation::parse_schema(text, "fuzz");
    const std::string written = validation::to_toml(schema);
    WEFT_CHECK(validation::parse_schema(written, "fuzz") == schema);
    schema.features.push_back({.name = "one more", .min_count = 1});
    if (schema.find("one more") == &schema.features.back()) {
      validation::edit_schema(text, "fuzz", schema);
    }
  });
}
