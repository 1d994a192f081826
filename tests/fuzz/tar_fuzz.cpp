#include "tests/fuzz/fuzz.h"

#include "weft/data/tar_samples.h"

// Samples lie within the archive.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    for (const auto& sample : weft::read_samples({data, size}, "fuzz")) {
      for (const auto& part : sample.parts) {
        WEFT_CHECK(part.bytes.empty() ||
                   (part.bytes.data() >= data &&
                    part.bytes.data() + part.bytes.size() <= data + size));
      }
    }
  });
}
