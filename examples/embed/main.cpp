// weft-embed MODEL PICTURE: what a trained model makes of a picture, in a C++
// program that only knows Weft as an installed package; and, on the way, a
// function of its own that is staged.
#include <fmt/core.h>

#include "weft/weft.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: embed MODEL PICTURE\n");
    return 2;
  }
  try {
    const auto model = weft::open_model(argv[1]);
    const auto prediction =
        weft::predict_typed(*model->predictor(), argv[2]).json;
    fmt::print("{}\n", prediction.at("class").get<std::string>());

    // Whatever is staged runs as one graph.
    const auto length = weft::jit([](const weft::Value& x) {
      return weft::sqrt(weft::sum(weft::square(x)));
    });
    fmt::print("{}\n",
               length(weft::Tensor::of<float>({2}, {3, 4})).tensor().item());
    return 0;
  } catch (const weft::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
