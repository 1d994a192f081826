#include "weft/train/step/image_input.h"

#include "weft/base/file.h"
#include "weft/data/image_converter.h"

namespace weft {

Image fitted_image(const std::string& path, const DataDescription& data) {
  const Shape& shape = data.features()[0].type.shape;
  const MappedFile file(path);
  Image image = decode_image(file.bytes(), path, static_cast<int>(shape[2]));
  // Files may be of any size; models are not.
  if (image.height == shape[0] && image.width == shape[1]) return image;
  return resize_image(image, shape[0], shape[1]);
}

std::vector<BatchInput> single_image_inputs(const DataDescription& data) {
  std::vector<BatchInput> inputs;
  for (const Feature& feature : data.features()) {
    TensorType type{feature.type.dtype, {1}};
    for (const Dim dim : feature.type.shape) type.shape.push_back(dim);
    // Pixels become numbers before a model sees them.
    if (inputs.empty()) type.dtype = DType::kF32;
    inputs.push_back({feature.name, type});
  }
  return inputs;
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
