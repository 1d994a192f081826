#include "weft/c/weft.h"

#include <cstring>

#include "weft/base/parallel.h"
#include "weft/base/version.h"
#include "weft/data/description_text.h"
#include "weft/files/exported.h"
#include "weft/train/model_in_use.h"

struct weft_error {
  weft_error_code code;
  std::string text;
};

struct weft_model {
  // The file is opened and checked once for what follows.
  explicit weft_model(weft::ExportedFile file)
      : function(file, weft::kMainFunction),
        whole(weft::describes_model(file) ? weft::open_model(std::move(file))
                                          : nullptr) {
    if (whole != nullptr) description = weft::to_json(whole->description());
    outputs = function.result_types();
  }

  weft::ExportedFunction function;
  std::vector<weft::TensorType> outputs;
  std::unique_ptr<weft::ModelInUse> whole;  // null for a function alone
  std::string description;
  std::unique_ptr<weft::Predictor> predictor;  // made when it is asked for
};

struct weft_results {
  std::vector<weft::Tensor> tensors;
};

namespace {

using weft::DType;
using weft::Error;
using weft::ErrorCode;
using weft::TensorType;

weft_error_code code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return WEFT_INVALID_ARGUMENT;
    case ErrorCode::kUnsupported:
      return WEFT_UNSUPPORTED;
    case ErrorCode::kDataLoss:
      return WEFT_DATA_LOSS;
    case ErrorCode::kUnavailable:
      return WEFT_UNAVAILABLE;
    case ErrorCode::kExhausted:
      return WEFT_EXHAUSTED;
    default:
      return WEFT_OTHER;
  }
}

// No exception may reach a caller that knows none.
template <class Body>
weft_error* guarded(Body&& body) {
  try {
    body();
    return nullptr;
  } catch (const Error& error) {
    return new weft_error{code_of(error.code()), error.what()};
  } catch (const std::bad_alloc&) {
    return new weft_error{WEFT_EXHAUSTED, "there is no memory left"};
  } catch (const std::exception& error) {
    return new weft_error{WEFT_OTHER, error.what()};
  }
}

// The order of weft_dtype.
constexpr DType kDTypes[] = {
    DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8,
    DType::kU8,  DType::kI16, DType::kI32, DType::kI64,  DType::kBool};

weft_dtype dtype_of(DType dtype) {
  const auto* found = std::ranges::find(kDTypes, dtype);
  return static_cast<weft_dtype>(found - std::begin(kDTypes));
}

weft_tensor described(const TensorType& type, void* data) {
  weft_tensor tensor{dtype_of(type.dtype), type.shape.rank(), {}, data};
  for (int i = 0; i < type.shape.rank(); ++i) {
    tensor.dims[i] = weft::is_symbolic(type.shape[i]) ? -1 : type.shape[i];
  }
  return tensor;
}

[[noreturn]] void no_such(const char* what, std::size_t index,
                          std::size_t count) {
  throw Error(ErrorCode::kInvalidArgument, "weft",
              "there is no {} {}: there are {}", what, index, count);
}

// The caller's memory, which outlives the run.
weft::Tensor borrowed(const weft_tensor& tensor, std::size_t index) {
  const auto wrong = [&](const char* what) {
    return Error(ErrorCode::kInvalidArgument, "weft_model_run", "input {}: {}",
                 index, what);
  };
  const auto dtype = static_cast<std::size_t>(tensor.dtype);
  if (dtype >= std::size(kDTypes)) throw wrong("it has no dtype");
  if (tensor.rank < 0 || tensor.rank > WEFT_MAX_RANK) {
    throw wrong("its rank is not from 0 to 8");
  }
  TensorType type{kDTypes[dtype], {}};
  std::int64_t size = 1;
  for (int i = 0; i < tensor.rank; ++i) {
    const std::int64_t dim = tensor.dims[i];
    if (dim < 0 || (dim > 0 && size > (std::int64_t{1} << 48) / dim)) {
      throw wrong("a dim of it cannot be");
    }
    size *= dim;
    type.shape.push_back(dim);
  }
  if (size == 0) return weft::Tensor::empty(type);
  if (tensor.data == nullptr) throw wrong("its data are NULL");
  if (reinterpret_cast<std::uintptr_t>(tensor.data) %
          weft::size_of(type.dtype) !=
      0) {
    throw wrong("its data are not aligned to the element");
  }
  return weft::Tensor::wrap(type, tensor.data, nullptr, [](void*) {});
}

}  // namespace

int weft_c_version(void) { return WEFT_C_VERSION; }
const char* weft_version(void) { return weft::kVersion; }

weft_error_code weft_error_code_of(const weft_error* error) {
  return error->code;
}
const char* weft_error_text(const weft_error* error) {
  return error->text.c_str();
}
void weft_error_free(weft_error* error) { delete error; }

weft_error* weft_model_open(const char* path, weft_model** model) {
  return guarded([&] { *model = new weft_model(weft::ExportedFile(path)); });
}
void weft_model_close(weft_model* model) { delete model; }

size_t weft_model_input_count(const weft_model* model) {
  return model->function.arguments().size();
}
size_t weft_model_output_count(const weft_model* model) {
  return model->outputs.size();
}

weft_error* weft_model_input(const weft_model* model, size_t index,
                             weft_tensor* type) {
  return guarded([&] {
    const auto& inputs = model->function.arguments();
    if (index >= inputs.size()) no_such("input", index, inputs.size());
    *type = described(inputs[index].type, nullptr);
  });
}

weft_error* weft_model_output(const weft_model* model, size_t index,
                              weft_tensor* type) {
  return guarded([&] {
    const auto& outputs = model->outputs;
    if (index >= outputs.size()) no_such("output", index, outputs.size());
    *type = described(outputs[index], nullptr);
  });
}

const char* weft_model_input_name(const weft_model* model, size_t index) {
  const auto& inputs = model->function.arguments();
  return index < inputs.size() ? inputs[index].name.c_str() : nullptr;
}

const char* weft_model_description(const weft_model* model) {
  return model->whole == nullptr ? nullptr : model->description.c_str();
}

weft_error* weft_model_run(weft_model* model, const weft_tensor* inputs,
                           size_t count, weft_results** results) {
  return guarded([&] {
    std::vector<weft::Tensor> arguments;
    for (std::size_t i = 0; i < count; ++i) {
      arguments.push_back(borrowed(inputs[i], i));
    }
    auto told = std::make_unique<weft_results>();
    for (const weft::Tensor& result : model->function.run(arguments)) {
      const bool is_view =
          std::ranges::any_of(arguments, [&](const weft::Tensor& each) {
            return result.shares_memory_with(each);
          });
      // A function may hand an argument on, whose memory is the caller's.
      told->tensors.push_back(is_view ? result.clone() : result);
    }
    *results = told.release();
  });
}

size_t weft_results_count(const weft_results* results) {
  return results->tensors.size();
}

weft_error* weft_results_tensor(const weft_results* results, size_t index,
                                weft_tensor* tensor) {
  return guarded([&] {
    const auto& tensors = results->tensors;
    if (index >= tensors.size()) no_such("result", index, tensors.size());
    *tensor = described(tensors[index].type(), tensors[index].raw());
  });
}
void weft_results_free(weft_results* results) { delete results; }

weft_error* weft_model_predict(weft_model* model, const char* text,
                               const void* file, size_t size, char** json) {
  return guarded([&] {
    if (model->whole == nullptr) {
      throw Error(ErrorCode::kUnsupported, "weft_model_predict",
                  "the file says nothing of its data")
          .hint("weft_model_run() runs it on tensors");
    }
    if (model->predictor == nullptr) {
      model->predictor = model->whole->predictor();
    }
    weft::PredictorInput input{text};
    if (file != nullptr) {
      input.file = weft::ByteSpan(static_cast<const std::uint8_t*>(file), size);
    }
    const std::string told = model->predictor->predict(input).json.dump(
        -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    auto copy = std::make_unique<char[]>(told.size() + 1);
    std::memcpy(copy.get(), told.c_str(), told.size() + 1);
    *json = copy.release();
  });
}
void weft_text_free(char* text) { delete[] text; }

weft_error* weft_set_threads(int count) {
  return guarded([&] {
    if (count < 1) {
      throw Error(ErrorCode::kInvalidArgument, "weft_set_threads",
                  "{} threads, where there must be 1", count);
    }
    weft::set_thread_count(count);
  });
}
