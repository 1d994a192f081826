// Models in ONNX's format, in and out.
//
//   const GraphFunctionRef model = import_onnx("resnet50.onnx");
//   export_function("resnet50.weft", *model);
//   export_onnx("copy.onnx", *model);
//
// Opsets 7 to 28 are read; docs/onnx.md lists the ops. Images
// become NHWC within; inputs and outputs keep their shapes and order. Symbolic
// dims stay so. What shapes are computed from is computed while importing.
//
// Threads: independent calls may run at once.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/runtime/jit/graph_function.h"

namespace weft {

struct OnnxImportOptions {
  // The shapes of inputs by name, in the place of those that the model states.
  std::map<std::string, Shape, std::less<>> shapes = {};
  // Inputs with the same value in every run, which are no arguments then: for
  // those that decide how large something is.
  std::map<std::string, Tensor, std::less<>> fixed = {};
};

// The model's graph as a function that is ready to run: arguments have the
// names of its inputs, results stand in the order of its outputs, and weights
// never change. Takes memory for the weights once; bytes of the file, and of
// files beside it, are mapped. Throws Error(kDataLoss) for a damaged file,
// Error(kUnsupported) that names each node that cannot be imported, its op,
// opset and why, Error(kInvalidArgument) for options that name no input, and
// Error(kUnavailable) for files that cannot be read.
GraphFunctionRef import_onnx(const std::filesystem::path& path,
                             const OnnxImportOptions& options = {});

struct OnnxExportOptions {
  // Weights in a file of their own, PATH.CHECKSUM.data, whatever their size.
  bool external_data = false;
};

// The function as a model of ONNX, opset 23. Arguments and results keep their
// order and shapes; results are called result0, result1, …. Weights are those
// that the function has now. What is too large for one file, 1 GB of weights,
// lies in PATH.CHECKSUM.data beside it; that of a model which stood at `path`
// before is removed. Throws Error(kUnsupported) that names each node that ONNX
// cannot express, and why; for a function that assigns variables or draws
// random numbers; and as AtomicFile does.
void export_onnx(const std::filesystem::path& path,
                 const GraphFunction& function,
                 const OnnxExportOptions& options = {});

// The dtype of an input. Throws as import_onnx().
DType onnx_input_dtype(const std::filesystem::path& path,
                       std::string_view input);

// Whether a file's name says that it is ONNX's.
bool is_onnx_file(const std::filesystem::path& path);

}  // namespace weft
