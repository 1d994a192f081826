#include "weft/data/named_tensors.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <limits>

#include "weft/data/table_options.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

bool is_among(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

void check_name(const std::vector<std::string>& names, const std::string& name,
                std::string_view where) {
  if (is_among(names, name)) return;
  const std::string near = nearest(name, names);
  throw Error(ErrorCode::kInvalidArgument, where, "no tensor '{}'{}", name,
              near.empty()
                  ? fmt::format("; there are {}", fmt::join(names, ", "))
                  : fmt::format(" (did you mean '{}'?)", near));
}

std::string usual_label(const std::vector<std::string>& names,
                        std::string_view where) {
  for (const char* name : {"label", "labels", "target", "targets", "y"}) {
    if (is_among(names, name)) return name;
  }
  throw Error(ErrorCode::kInvalidArgument, where,
              "none of {} is called as labels are", fmt::join(names, ", "))
      .hint("data.label names the one that is to be told");
}

}  // namespace

std::vector<OptionSpec> named_tensor_specs() {
  return {{"inputs", "",
           "tensors that the model sees, by comma; none: all but the label"},
          {"label", "",
           "tensor to tell; none: label, labels, target, targets or y"}};
}

std::vector<std::string> chosen_tensors(const std::vector<std::string>& names,
                                        const Options& options,
                                        std::string_view where) {
  auto label = option<std::string>(options, "label");
  if (label.empty()) label = usual_label(names, where);
  check_name(names, label, where);
  std::vector<std::string> chosen =
      listed(option<std::string>(options, "inputs"));
  for (const std::string& name : chosen) check_name(names, name, where);
  if (is_among(chosen, label)) {
    throw Error(ErrorCode::kInvalidArgument, "data.inputs",
                "'{}' is the label, which the model must not see", label);
  }
  if (chosen.empty()) {
    std::ranges::copy_if(names, std::back_inserter(chosen),
                         [&](const auto& name) { return name != label; });
  }
  if (chosen.empty()) {
    throw Error(ErrorCode::kInvalidArgument, where,
                "'{}' alone: a label and nothing to predict it from", label);
  }
  chosen.push_back(std::move(label));
  return chosen;
}

Tensor as_labels(const Tensor& values, std::string_view where) {
  const TensorType type = values.type();
  if (type.shape.rank() != 1 || is_floating(type.dtype) ||
      type.dtype == DType::kBool || type.dtype == DType::kI32) {
    return values;
  }
  Tensor labels = Tensor::empty({DType::kI32, type.shape});
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const double number = values.item(i);
    if (number < std::numeric_limits<std::int32_t>::min() ||
        number > std::numeric_limits<std::int32_t>::max()) {
      throw Error(ErrorCode::kDataLoss, where,
                  "label {:.0f} of example {} is no number of a class", number,
                  i);
    }
    labels.data<std::int32_t>()[i] = static_cast<std::int32_t>(number);
  }
  return labels;
}

bool is_tensor_file(const fs::path& folder, std::string_view extension) {
  std::error_code ignored;
  return (folder.extension() == extension &&
          fs::is_regular_file(folder, ignored)) ||
         fs::is_regular_file(folder / fmt::format("train{}", extension),
                             ignored);
}

DatasetSplits open_tensor_files(const fs::path& folder,
                                std::string_view extension,
                                const OpenTensors& open) {
  std::error_code ignored;
  if (fs::is_regular_file(folder, ignored)) {
    return hold_out_fifth(open(folder, nullptr));
  }
  DatasetSplits splits;
  splits.train = open(folder / fmt::format("train{}", extension), nullptr);
  splits.test =
      open(folder / fmt::format("test{}", extension), splits.train.get());
  check_alike(*splits.train, *splits.test);
  return splits;
}

void check_alike(const Dataset& train, const Dataset& test) {
  for (std::size_t i = 0; i < train.features().size(); ++i) {
    const Feature& wanted = train.features()[i];
    const Feature& given = test.features()[i];
    if (wanted.name == given.name && wanted.type == given.type) continue;
    throw Error(ErrorCode::kDataLoss, test.name(),
                "'{}' is {}, and '{}' of the training part is {}", given.name,
                to_string(given.type), wanted.name, to_string(wanted.type));
  }
}

}  // namespace weft
