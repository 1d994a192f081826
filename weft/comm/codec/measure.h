// What a pipeline makes of a tensor: size, error and speed, stage by stage.
//
// Threads: pure functions; measured on the caller's thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// The pipeline up to and including one stage.
struct StageReport {
  std::string stage;  // canonical text of the stage alone
  std::size_t bytes = 0;
  double bits_per_value = 0;
  double relative_error = 0;      // ||x - decoded|| / ||x||, without feedback
  double encode_bytes_per_s = 0;  // of f32 input
  double decode_bytes_per_s = 0;  // of f32 output
};

// One report per stage that the text names. Throws as Pipeline does: for bad
// text, and for values that are not finite. Takes some tenths of a second a
// stage.
std::vector<StageReport> measure_pipeline(std::string_view text,
                                          std::span<const float> values);

// Values like those of a gradient, to try pipelines on: normal, with a scale
// that changes every 64 values, and one in fifty ten times as large. The same
// for the same arguments.
std::vector<float> synthetic_gradient(std::size_t size, std::uint64_t seed = 1);

}  // namespace weft
