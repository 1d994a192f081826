// The measurements, one file each.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

namespace weft::market_bench {

using Told = nlohmann::ordered_json;

class Watch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         begun_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point begun_ =
      std::chrono::steady_clock::now();
};

// {"made_per_s", "checked_per_s", "verify_us", "conserved", "same_root"}
Told measure_transactions(std::int64_t count);
// {"exact_s", "sampled_s", "permutations", "rank_correlation", …}
Told measure_shapley(const std::string& data, const std::string& folder,
                     std::int64_t points);
// Removal curves with noisy labels, and what noisy curators earn.
Told measure_values(const std::string& data, const std::string& folder,
                    std::int64_t points);
// {"plain_s", "sealed_s", "attest_ms", …}: medians of pairs.
Told measure_training(const std::string& recipe, const std::string& folder,
                      const std::string& scratch, std::int64_t pairs);

}  // namespace weft::market_bench
