// A picture of a person's as the input of a model that was trained on images.
//
// Threads: pure functions.
#pragma once

#include "weft/data/dataset.h"
#include "weft/data/image.h"
#include "weft/train/step/predictor.h"

namespace weft {

// The picture in a file, PNG or JPEG, in the size and channels of the data's
// first feature, u8[height, width, channels]. Throws Error(kInvalidArgument)
// for an input that is no file, and what decoding throws.
Image fitted_image(const PredictorInput& input, const DataDescription& data);

// f32[1, height, width, channels]: its pixels, scaled as the training data
// was.
Tensor image_input(const Image& image, const DataDescription& data);

}  // namespace weft
