#include "tests/fuzz/fuzz.h"

#include "weft/gate/gate_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  return weft::fuzz::refuse_or_accept([&] {
    const weft::GateFile file =
        weft::parse_gate_file(weft::fuzz::text_of(data, size), "fuzz.toml");
    WEFT_CHECK(weft::gate_config_from_json(weft::to_json(file.config)) ==
               file.config);
  });
}
