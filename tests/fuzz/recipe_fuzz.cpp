#include "tests/fuzz/fuzz.h"

#include "weft/train/recipe/recipe.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    const auto recipe =
        weft::parse_recipe(weft::fuzz::text_of(data, size), "fuzz");
    const std::string text = weft::to_toml(recipe);
    WEFT_CHECK(weft::to_toml(weft::parse_recipe(text, "canonical")) == text);
  });
}
