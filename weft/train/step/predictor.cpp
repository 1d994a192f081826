#include "weft/train/step/predictor.h"

namespace weft {

Prediction predict_typed(Predictor& predictor, const std::string& typed) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(typed, ignored)) {
    return predictor.predict({typed});
  }
  const MappedFile file(typed);
  return predictor.predict({typed, file.bytes()});
}

}  // namespace weft
