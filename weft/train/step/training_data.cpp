#include "weft/train/step/training_data.h"

namespace weft {

std::string_view to_string(DataPart part) {
  switch (part) {
    case DataPart::kTrain:
      return "train";
    case DataPart::kValid:
      return "valid";
    case DataPart::kTest:
      return "test";
  }
  WEFT_CHECK(false, "an unknown part");
}

}  // namespace weft
