// Tensors of an ONNX file, also those whose bytes lie in files beside it.
//
// Threads: one thread at a time.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "weft/base/file.h"
#include "weft/onnx/model.h"
#include "weft/tensor/tensor.h"

namespace weft::onnx {

// The files of external data, each mapped when it is first asked for.
class ExternalFiles {
 public:
  // Names of files are relative to `folder`; they may not lead out of it.
  explicit ExternalFiles(std::filesystem::path folder)
      : folder_(std::move(folder)) {}

  // The bytes of an external tensor. Throws Error(kDataLoss) naming `where` for
  // a name, place or length that does not fit, and as MappedFile does.
  ByteSpan bytes_of(const TensorProto& tensor, std::string_view where);

 private:
  std::filesystem::path folder_;
  std::map<std::string, MappedFile> files_;
};

// A tensor with memory of its own. Throws Error(kDataLoss) naming `where` where
// bytes and shape do not agree or a bool is neither 0 nor 1, and
// Error(kUnsupported) for an element type that Weft has not.
Tensor to_tensor(const TensorProto& proto, ExternalFiles& files,
                 std::string_view where);

}  // namespace weft::onnx
