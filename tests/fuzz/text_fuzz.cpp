#include "tests/fuzz/fuzz.h"

#include "weft/data/parallel_text.h"
#include "weft/data/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    const auto text = weft::fuzz::text_of(data, size);
    const auto vocabulary = weft::Vocabulary::build(text, "fuzz");
    weft::stream_dataset(vocabulary.encode(text, "fuzz"), vocabulary.words(), 2,
                         3, "fuzz");
    const weft::Vocabulary words(weft::translation_words(text, "fuzz", 1));
    weft::ParallelText(words, text, words, text, "fuzz", "fuzz");
  });
}
