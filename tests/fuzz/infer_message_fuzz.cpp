#include "tests/fuzz/fuzz.h"

#include "weft/serve/grpc/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  inference::ModelInferRequest request;
  if (!request.ParseFromArray(data, static_cast<int>(size))) return 0;
  return weft::fuzz::refuse_or_accept([&] { weft::serve::call_of(request); });
}
