// The functions of a model, which its nodes call, and how much a call stands
// for.
//
// Threads: one import.
#pragma once

#include <map>

#include "weft/onnx/model.h"

namespace weft::onnx {

class CalledFunctions {
 public:
  // `model` outlives it.
  explicit CalledFunctions(const ModelProto& model) : model_(model) {}

  // Null where the node calls none.
  const FunctionProto* find(const NodeProto& node) const;

  // Functions that call others twice double with each level, so that a file of
  // a kilobyte could stand for more nodes than memory holds. Throws
  // Error(kUnsupported) for a call of more than 2^20 nodes together, and of
  // functions that call each other more than 64 deep or themselves, which ONNX
  // does not allow.
  void check(const FunctionProto& function);

 private:
  struct Size {
    std::size_t nodes = 0;
    int depth = 0;  // of the calls

    void add(const Size& other);
  };
  // `depth` is that of the calls which lead there.
  Size size_of(const FunctionProto& function, int depth);
  Size size_of(const NodeProto& node, int depth);

  const ModelProto& model_;
  std::map<const FunctionProto*, Size> sizes_;
};

}  // namespace weft::onnx
