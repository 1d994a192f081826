// What weft.train.Data holds, as the data of a training.

#include <limits>

#include "python/src/convert.h"
#include "python/src/recipes.h"

#include "weft/data/tensor_set.h"
#include "weft/ops/unary.h"
#include "weft/train/step/loaded_data.h"

namespace weft::python {
namespace {

Error bad_data(std::string reason) {
  return {ErrorCode::kInvalidArgument, std::string("data"), std::move(reason)};
}

// NumPy's numbers have 64 bits unless somebody says otherwise; models have 32.
Tensor usual_tensor(const py::handle& object) {
  const Value value = value_from(object);
  if (value.dtype() == DType::kF64) return cast(value, DType::kF32).tensor();
  if (value.dtype() != DType::kI64) return value.tensor();
  using Narrow = std::numeric_limits<std::int32_t>;
  for (const std::int64_t number : value.tensor().span<std::int64_t>()) {
    // A cast would keep some bits of it, and train on another number.
    if (number >= Narrow::min() && number <= Narrow::max()) continue;
    throw bad_data(fmt::format(
        "{} does not fit i32, which integers of 64 bits become", number));
  }
  return cast(value, DType::kI32).tensor();
}

std::vector<std::string> classes_from(const py::object& classes) {
  if (classes.is_none()) return {};
  if (!py::isinstance<py::int_>(classes)) {
    return py::cast<std::vector<std::string>>(classes);
  }
  std::vector<std::string> names;
  for (int i = 0; i < py::cast<int>(classes); ++i) {
    names.push_back(std::to_string(i));
  }
  return names;
}

DatasetRef set_from(const py::object& part, const std::string& name,
                    const std::vector<std::string>& classes) {
  if (part.is_none()) return nullptr;
  std::vector<TensorFeature> features;
  for (const auto& [key, values] : py::reinterpret_borrow<py::dict>(part)) {
    features.push_back({py::cast<std::string>(key), usual_tensor(values)});
  }
  return tensor_set(name, std::move(features), classes);
}

// An object of Python that makes the batches of a part.
struct BatchMaker {
  SharedObject make;  // batch(epoch, number)
  std::vector<BatchInput> inputs;
  std::int64_t batches = 0;
};

BatchMaker maker_from(const py::object& part) {
  for (const char* name : {"inputs", "batches", "batch"}) {
    if (py::hasattr(part, name)) continue;
    throw bad_data(
        fmt::format("a part is a dict of arrays, or has 'inputs', "
                    "'batches' and 'batch(epoch, number)'; this has "
                    "no '{}'",
                    name));
  }
  BatchMaker maker{.make = share(part.attr("batch")),
                   .inputs = {},
                   .batches = integer_from(part.attr("batches"))};
  for (const auto& [name, type] :
       py::reinterpret_borrow<py::dict>(part.attr("inputs"))) {
    maker.inputs.push_back({py::cast<std::string>(name), type_from(type)});
  }
  if (maker.inputs.empty() || maker.batches < 1) {
    throw bad_data("a part has at least an input and a batch");
  }
  for (const auto& [name, type, varying, size_name] : maker.inputs) {
    if (type.shape.rank() > 0 && type.shape.is_static()) continue;
    throw bad_data(fmt::format("input '{}' is {}; that of a full batch is due",
                               name, to_string(type)));
  }
  return maker;
}

class MadeBatches final : public BatchSource {
 public:
  explicit MadeBatches(BatchMaker maker) : maker_(std::move(maker)) {}

  const std::vector<BatchInput>& inputs() const override {
    return maker_.inputs;
  }
  std::int64_t batches_per_epoch() const override { return maker_.batches; }
  std::int64_t examples_per_epoch() const override {
    return maker_.batches * maker_.inputs[0].type.shape[0];
  }

  const Batch& next() override {
    {
      const py::gil_scoped_acquire gil;
      const py::object made =
          call_python(maker_.make, py::make_tuple(next_.epoch, next_.batch));
      batch_.tensors.clear();
      for (const auto each : made) {
        batch_.tensors.push_back(usual_tensor(each));
      }
    }
    const bool is_empty =
        batch_.tensors.empty() || batch_.tensors[0].shape().rank() == 0;
    batch_.size = is_empty ? 0 : batch_.tensors[0].shape()[0];
    batch_.whole_size = batch_.size;
    batch_.position = next_;
    seek({next_.epoch, next_.batch + 1});
    return batch_;
  }

  BatchPosition position() const override { return next_; }
  void seek(BatchPosition position) override {
    next_ = position.batch == maker_.batches
                ? BatchPosition{position.epoch + 1, 0}
                : position;
  }

 private:
  BatchMaker maker_;
  Batch batch_;
  BatchPosition next_;
};

class MadeDescription final : public DataDescription {
 public:
  MadeDescription(std::string name, const std::vector<BatchInput>& inputs,
                  std::vector<std::string> classes) {
    name_ = std::move(name);
    classes_ = std::move(classes);
    for (const auto& [input, type, varying, size_name] : inputs) {
      features_.push_back(
          {input, {type.dtype, Shape(type.shape.last(type.shape.rank() - 1))}});
    }
  }
};

class MadeData final : public TrainingData {
 public:
  MadeData(std::string name, const std::vector<std::string>& classes,
           BatchMaker train, std::optional<BatchMaker> valid,
           std::optional<BatchMaker> test)
      : description_(std::move(name), train.inputs, classes),
        train_(std::move(train)),
        valid_(std::move(valid)),
        test_(std::move(test)) {
    if (!valid_ && !test_) throw bad_data("there is no part to measure on");
    for (const auto* part : {&valid_, &test_}) {
      if (*part) check(**part);
    }
  }

  const DataDescription& description() const override { return description_; }
  bool has(DataPart part) const override {
    return part == DataPart::kTrain ||
           (part == DataPart::kValid ? valid_ : test_).has_value();
  }
  std::unique_ptr<BatchSource> train(const Shard&) const override {
    return std::make_unique<MadeBatches>(train_);
  }
  std::unique_ptr<BatchSource> measure(DataPart part,
                                       const Shard&) const override {
    if (part == DataPart::kTrain) return std::make_unique<MadeBatches>(train_);
    return std::make_unique<MadeBatches>(
        *(part == DataPart::kValid ? valid_ : test_));
  }
  std::vector<std::pair<std::string, std::string>> fingerprint()
      const override {
    return {{"data", description_.name()}};
  }

 private:
  // Batches of another size are no others.
  void check(const BatchMaker& part) const {
    bool fits = part.inputs.size() == train_.inputs.size();
    for (std::size_t i = 0; fits && i < part.inputs.size(); ++i) {
      TensorType type = part.inputs[i].type;
      type.shape[0] = train_.inputs[i].type.shape[0];
      fits = type == train_.inputs[i].type &&
             part.inputs[i].name == train_.inputs[i].name;
    }
    if (!fits) throw bad_data("a part has other inputs than the training part");
  }

  MadeDescription description_;
  BatchMaker train_;
  std::optional<BatchMaker> valid_;
  std::optional<BatchMaker> test_;
};

}  // namespace

std::shared_ptr<const TrainingData> data_from(const py::object& data,
                                              const Recipe& recipe) {
  if (data.is_none()) return nullptr;
  for (const char* part : {"train", "valid", "test", "classes", "name"}) {
    if (!py::hasattr(data, part)) throw bad_data("this is no weft.train.Data");
  }
  const py::object train = data.attr("train");
  const py::object valid = data.attr("valid");
  const py::object test = data.attr("test");
  const auto name = py::cast<std::string>(data.attr("name"));
  auto classes = classes_from(data.attr("classes"));
  if (!py::isinstance<py::dict>(train)) {
    const auto made = [](const py::object& part) {
      return part.is_none() ? std::optional<BatchMaker>() : maker_from(part);
    };
    return std::make_shared<MadeData>(name, classes, maker_from(train),
                                      made(valid), made(test));
  }
  for (const py::object& part : {valid, test}) {
    if (part.is_none() || py::isinstance<py::dict>(part)) continue;
    throw bad_data("the training part is a dict of arrays, and so are others");
  }
  const DatasetRef trained = set_from(train, name, classes);
  // A label that training has not seen is refused in the others.
  classes = trained->classes();
  DatasetSplits splits{.train = trained,
                       .test = set_from(test, name, classes),
                       .valid = set_from(valid, name, classes)};
  if (splits.test == nullptr && splits.valid == nullptr) {
    splits = hold_out_fifth(splits.train);
  }
  return loaded_data(std::move(splits), data_options(recipe));
}

}  // namespace weft::python
