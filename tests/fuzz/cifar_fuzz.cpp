#include <array>

#include "tests/fuzz/fuzz.h"

#include "weft/data/cifar10.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    const std::int64_t records = weft::check_cifar({data, size}, "fuzz");
    WEFT_CHECK(records * static_cast<std::int64_t>(weft::kCifarRecord) ==
               static_cast<std::int64_t>(size));
    std::array<std::uint8_t, 3 * weft::kCifarPlane> image{};
    weft::copy_cifar_image(data, image.data());
  });
}
