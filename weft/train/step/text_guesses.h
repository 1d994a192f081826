// Which class a text most probably is.
//
// Threads: caller synchronises.
#pragma once

#include <memory>

#include "weft/train/step/predictor.h"

namespace weft {

// Takes the words of a text as the data has them, between spaces; those that
// it does not know are <unk>, and told to be. Throws Error(kInvalidArgument)
// for a text without words.
std::unique_ptr<Predictor> guess_classes_of_texts(
    const PredictorContext& context);

}  // namespace weft
