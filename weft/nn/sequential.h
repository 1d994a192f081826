// Layers and plain functions, one behind the other; by name: layer_def.h.
//
//   nn::Sequential model{nn::Conv2d{1, 32, 3}, nn::relu, nn::MaxPool2d{2},
//                        nn::Flatten{}, nn::Linear{6272, 10}};
//
// A part is named by its position: the last one here is "4".
//
// Threads: as Module.
#pragma once

#include <concepts>
#include <functional>
#include <type_traits>

#include "weft/nn/activation.h"
#include "weft/nn/module.h"

namespace weft::nn {

class FunctionLayer : public Layer {
 public:
  explicit FunctionLayer(std::function<Value(const Value&)> function)
      : function_(std::move(function)) {}

 protected:
  Value forward(const Value& x) override { return function_(x); }

 private:
  std::function<Value(const Value&)> function_;
};

class Sequential : public Layer {
 public:
  Sequential() = default;
  template <class First, class... Rest>
  requires(!std::same_as<std::remove_cvref_t<First>, Sequential> ||
           sizeof...(Rest) > 0) explicit Sequential(First&& first,
                                                    Rest&&... rest) {
    add(std::forward<First>(first));
    (add(std::forward<Rest>(rest)), ...);
  }

  // Appends a layer, a pointer to one, or a function from Value to Value.
  template <class Part>
  Sequential& add(Part&& part) {
    using Plain = std::remove_cvref_t<Part>;
    if constexpr (std::is_convertible_v<Part, std::shared_ptr<Layer>>) {
      append(std::forward<Part>(part));
    } else if constexpr (std::is_base_of_v<Layer, Plain>) {
      append(std::make_shared<Plain>(std::forward<Part>(part)));
    } else {
      append(std::make_shared<FunctionLayer>(std::forward<Part>(part)));
    }
    return *this;
  }
  // The same with a name in place of the position.
  template <class Part>
  Sequential& add(std::string name, Part&& part) {
    add(std::forward<Part>(part));
    parts_.back()->set_name(std::move(name));
    return *this;
  }

 protected:
  Value forward(const Value& x) override;

 private:
  void append(std::shared_ptr<Layer> part);

  std::vector<std::shared_ptr<Layer>> parts_;
};

}  // namespace weft::nn
