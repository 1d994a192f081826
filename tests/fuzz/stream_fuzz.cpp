// The first byte says which stream is expected, the rest is the message.
#include <algorithm>

#include "tests/fuzz/fuzz.h"

#include "weft/comm/sparse/stream_sum.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size == 0) return 0;
  weft::StreamType type;
  type.dtype = data[0] & 1 ? weft::DType::kF64 : weft::DType::kF32;
  type.size = data[0] & 2 ? std::uint64_t{1} << 33 : 100;
  return weft::fuzz::refuse_or_accept([&] {
    weft::RawBytes message(size - 1);
    std::copy(data + 1, data + size,
              reinterpret_cast<std::uint8_t*>(message.data()));
    const weft::Stream stream =
        weft::Stream::from_message(std::move(message), size - 1, type, "fuzz");
    stream.check();
    WEFT_CHECK(stream.message().size() == size - 1);
    // What was accepted can be computed with.
    const auto parts =
        weft::split(stream, weft::Partitions::even(type.size, 3));
    weft::concatenate(type, parts).check();
    const weft::Stream twice = weft::sum(stream.copy(), stream.copy());
    twice.check();
    WEFT_CHECK(twice.is_dense() || twice.count() == stream.count());
  });
}
