// A picture of a person's as the input of a model that was trained on images.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "weft/data/batch_source.h"
#include "weft/data/dataset.h"
#include "weft/data/image.h"

namespace weft {

// The picture in the file `path`, PNG or JPEG, in the size and channels of the
// data's first feature, u8[height, width, channels]. Throws what reading and
// decoding throw.
Image fitted_image(const std::string& path, const DataDescription& data);

// The tensors of a batch of one image, as the data's features are, pixels as
// numbers.
std::vector<BatchInput> single_image_inputs(const DataDescription& data);

// f32[1, height, width, channels]: its pixels, scaled as the training data
// was.
Tensor image_input(const Image& image, const DataDescription& data);

}  // namespace weft
