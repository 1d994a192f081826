#include "weft/serve/served_model.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "weft/base/stopwatch.h"
#include "weft/compiler/inline_calls.h"
#include "weft/serve/row_independence.h"
#include "weft/tensor/symbol.h"
#include "weft/train/model_in_use.h"

namespace weft::serve {
namespace {

bool assigns(const ExportedFunction& function) {
  return std::ranges::any_of(
      function.function().hidden(),
      [](const Hidden& each) { return each.is_assigned; });
}

// Row `from` of a tensor, again and again, behind those that are there.
void repeat_row(const Tensor& tensor, std::int64_t from, std::int64_t begin) {
  const Dim rows = tensor.shape()[0];
  const std::size_t bytes = tensor.bytes() / static_cast<std::size_t>(rows);
  auto* data = static_cast<std::byte*>(tensor.raw());
  for (std::int64_t row = begin; row < rows; ++row) {
    std::memcpy(data + static_cast<std::size_t>(row) * bytes,
                data + static_cast<std::size_t>(from) * bytes, bytes);
  }
}

// A function that was exported by a program has no task.
std::unique_ptr<ModelInUse> task_of(ExportedFile file) {
  return describes_model(file) ? open_model(std::move(file)) : nullptr;
}

Outcome failed(const Error& error) {
  return {status_of(error), error.what(), {}};
}

}  // namespace

std::int64_t padded_rows(std::int64_t rows) {
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(rows)));
}

// What is wrong with a copy is told of the file that it was made of.
ServedModel::Opened ServedModel::open(const FileSnapshot& copy,
                                      const std::filesystem::path& path,
                                      const ModelOptions& options) {
  try {
    ExportedFile file(copy.path());
    ExportedFunction function(file, kMainFunction,
                              {.most_plans = options.most_plans});
    return {std::move(function), task_of(std::move(file))};
  } catch (const Error& error) {
    throw Error(error.code(), path.string(), "{}", error.message());
  }
}

ServedModel::~ServedModel() = default;

ServedModel::ServedModel(std::string name, std::string version,
                         const std::filesystem::path& path,
                         const ModelOptions& options)
    : name_(std::move(name)),
      version_(std::move(version)),
      options_(options),
      file_(path),
      opened_(open(file_, path, options)),
      is_serial_(assigns(opened_.function)) {
  for (const auto& [argument, type] : opened_.function.arguments()) {
    // A graph that was written by hand need not name its arguments.
    inputs_.push_back(
        {argument.empty() ? fmt::format("arg{}", inputs_.size()) : argument,
         type});
  }
  for (const TensorType& type : opened_.function.result_types()) {
    outputs_.push_back({fmt::format("result{}", outputs_.size()), type});
  }
  const GraphFunction& whole = opened_.function.function();
  const Graph inlined = inline_calls(whole.graph(), whole.function().name());
  const Function& function = inlined.functions.front();
  const auto rows = row_symbol(function, inputs_.size(), outputs_.size());
  if (is_serial_) {
    alone_because_ = "it assigns variables, so that each run follows another";
  } else if (!rows) {
    alone_because_ =
        "the leading dims of its arguments and results are not one symbol";
  } else if (has_control(function)) {
    alone_because_ = "it branches, loops or calls itself";
  } else {
    alone_because_ =
        rows_depend(function, *rows, inputs_.size(), outputs_.size());
  }
  if (alone_because_) return;
  rows_ = rows;
  most_rows_ = options.most_rows;
}

void ServedModel::admit(Request& request) const {
  Bindings bindings;
  request.group.clear();
  request.elements = 0;
  WEFT_CHECK(request.inputs.size() == inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Port& port = inputs_[i];
    const TensorType& type = request.inputs[i].type();
    if (type.dtype != port.type.dtype ||
        !match(port.type.shape, type.shape, bindings)) {
      throw Refusal(Status::kBadRequest, fmt::format("inputs[{}]", i),
                    "'{}' is {}, and the model takes {}", port.name,
                    to_string(type), to_string(port.type));
    }
    if (type.shape.num_elements() == 0) {
      throw Refusal(Status::kBadRequest, fmt::format("inputs[{}]", i),
                    "'{}' is {}, which has no elements", port.name,
                    to_string(type));
    }
    request.elements += type.shape.num_elements();
    for (int axis = rows_ ? 1 : 0; axis < type.shape.rank(); ++axis) {
      request.group.push_back(type.shape[axis]);
    }
  }
  request.rows = rows_ ? request.inputs[0].shape()[0] : 1;
}

std::vector<Tensor> ServedModel::joined(std::span<const RequestRef> batch,
                                        std::int64_t rows) const {
  if (batch.size() == 1 && batch[0]->rows == rows) return batch[0]->inputs;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    TensorType type = batch[0]->inputs[i].type();
    type.shape[0] = rows;
    inputs.push_back(Tensor::empty(type));
    std::int64_t next = 0;
    for (const RequestRef& each : batch) {
      inputs[i].slice(next, next + each->rows).copy_from(each->inputs[i]);
      next += each->rows;
    }
    // A row of a client is known to be one that the model takes.
    repeat_row(inputs[i], 0, next);
  }
  return inputs;
}

std::vector<Outcome> ServedModel::run(std::span<const RequestRef> batch,
                                      BatchReport& report) {
  std::int64_t rows = 0;
  for (const RequestRef& each : batch) rows += each->rows;
  const std::int64_t padded = rows_of_run(rows);
  std::vector<Outcome> outcomes(batch.size());
  try {
    const std::vector<Tensor> inputs = joined(batch, padded);
    const Stopwatch watch;
    const std::vector<Tensor> results = opened_.function.run(inputs);
    report.seconds += watch.seconds();
    report.padding += padded - rows;
    std::int64_t next = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      for (const Tensor& result : results) {
        outcomes[i].results.push_back(
            rows_ ? result.slice(next, next + batch[i]->rows) : result);
      }
      next += batch[i]->rows;
    }
  } catch (const Error& error) {
    if (batch.size() == 1) return {failed(error)};
    for (std::size_t i = 0; i < batch.size(); ++i) {
      outcomes[i] = run(batch.subspan(i, 1), report)[0];
    }
  }
  return outcomes;
}

std::vector<Bindings> ServedModel::warm_up_sizes() const {
  std::vector<Bindings> all;
  for (const auto& listed : options_.warm_up) {
    Bindings bindings;
    for (const auto& [dim, size] : listed) bindings.bind(symbol(dim), size);
    all.push_back(std::move(bindings));
  }
  if (!all.empty()) return all;
  if (!rows_) return {Bindings()};
  for (std::int64_t rows = 1; rows <= padded_rows(most_rows_); rows *= 2) {
    all.emplace_back().bind(*rows_, rows);
  }
  return all;
}

std::vector<Tensor> ServedModel::samples(const Bindings& bindings) const {
  std::vector<Tensor> inputs;
  for (const Port& port : inputs_) {
    TensorType type{port.type.dtype, substitute(port.type.shape, bindings)};
    // Without a size for each symbol there is no shape to run.
    if (!type.shape.is_static()) return {};
    inputs.push_back(Tensor::zeros(type));
  }
  return inputs;
}

void ServedModel::warm_up(std::size_t copies) {
  for (const Bindings& bindings : warm_up_sizes()) {
    const std::vector<Tensor> inputs = samples(bindings);
    if (!inputs.empty()) {
      opened_.function.prepare(inputs, is_serial_ ? 1 : copies);
    } else if (!options_.warm_up.empty()) {
      throw Error(ErrorCode::kInvalidArgument, name_,
                  "a shape to warm up leaves dims of its inputs open")
          .hint("say the size of each: N=8,T=20");
    }
  }
}

}  // namespace weft::serve
