// Our end of the workers' protocol; see bench/README.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace weft::bench {

using Json = nlohmann::json;
using Handlers = std::map<std::string, std::function<Json()>>;

// Answers a line of standard input with a line of JSON, until `quit`. A
// request for memory is answered too: `baseline_bytes` is what was resident
// before the first tensor.
void serve(Handlers handlers, std::uint64_t baseline_bytes);

// Runs `block`, which returns how much work it did.
Json timed(const std::function<std::int64_t()>& block);

// A field of /proc/self/status: "VmRSS".
std::uint64_t status_bytes(const std::string& field);

}  // namespace weft::bench
