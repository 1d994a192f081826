#include "tests/fuzz/fuzz.h"

#include "weft/onnx/tensors.h"

// The model is read, and then the tensors that it carries.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    const auto model = weft::onnx::parse_model({data, size}, "fuzz");
    weft::onnx::ExternalFiles files("/nonexistent");
    for (const auto& tensor : model.graph.initializers) {
      const auto read = weft::onnx::to_tensor(tensor, files, "fuzz");
      WEFT_CHECK(read.bytes() <= 8 * size);
    }
  });
}
