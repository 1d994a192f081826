#include "weft/train/step/image_input.h"

#include "weft/data/image_converter.h"

namespace weft {

Image fitted_image(const PredictorInput& input, const DataDescription& data) {
  if (!input.file) {
    throw Error(ErrorCode::kUnavailable, input.text, "there is no such file")
        .hint("the model looks at images: PNG or JPEG");
  }
  const Shape& shape = data.features()[0].type.shape;
  Image image =
      decode_image(*input.file, input.text, static_cast<int>(shape[2]));
  // Files may be of any size; models are not.
  if (image.height == shape[0] && image.width == shape[1]) return image;
  return resize_image(image, shape[0], shape[1]);
}

Tensor image_input(const Image& image, const DataDescription& data) {
  const Shape& shape = data.features()[0].type.shape;
  Tensor input =
      Tensor::empty({DType::kF32, {1, shape[0], shape[1], shape[2]}});
  ImageConverter(shape, data.pixel_scale())
      // Changes of images are for training.
      .convert(image.pixels.data(), input.data<float>());
  return input;
}

}  // namespace weft
