// Guesses at what a picture shows, by a model that gives a probability for each
// class.
//
// Threads: caller synchronises.
#pragma once

#include <memory>

#include "weft/train/step/predictor.h"

namespace weft {

// Takes files of PNG or JPEG, of any size. Throws Error(kUnsupported) where the
// examples are no images.
std::unique_ptr<Predictor> guess_classes_of_images(
    const PredictorContext& context);

}  // namespace weft
