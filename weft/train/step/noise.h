// Noise of differentially private training: normal numbers that follow from a
// key which nobody else has.
//
// Each is half of the sum of four normal numbers, so that the floating-point
// numbers that come out do not tell which ones went in (Mironov, "On
// significance of the least significant bits for differential privacy", CCS
// 2012; Holohan and Braghin, "Secure random sampling in differential privacy",
// 2021).
//
// Threads: pure functions.
// Cost:    about 15 ns a number.
#pragma once

#include <cstdint>
#include <span>

#include "weft/data/secret_stream.h"

namespace weft {

// The stream of a parameter's noise in a step, by their numbers.
std::uint64_t noise_stream(std::uint64_t step, std::uint64_t parameter);

// Numbers of mean 0 and that standard deviation.
void fill_gaussian(std::span<float> out, double deviation, const SecretKey& key,
                   std::uint64_t stream);

}  // namespace weft
