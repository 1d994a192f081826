// weft.data: data sets that readers know, and arrays, in batches.

#include "python/src/convert.h"
#include "python/src/options.h"

#include "weft/data/fetch.h"
#include "weft/data/loader.h"
#include "weft/data/tensor_set.h"

namespace weft::python {
namespace {

py::tuple copies_of(const std::vector<Tensor>& tensors) {
  py::tuple all(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    // The loader will use its memory again; Python keeps what it was given.
    all[i] = py::cast(Value(tensors[i].clone()));
  }
  return all;
}

// The batches of one epoch after the other.
class Batches {
 public:
  Batches(DatasetRef dataset, const LoaderOptions& options)
      : loader_(std::move(dataset), options) {}

  // Which epoch is gone through next, also where the one before was left.
  std::int64_t begin() { return epochs_++; }

  py::tuple at(BatchPosition position) {
    const Batch* batch = nullptr;
    {
      const py::gil_scoped_release nogil;
      // Another epoch may have been gone through meanwhile.
      if (loader_.position() != position) loader_.seek(position);
      batch = &loader_.next();
    }
    return copies_of(batch->tensors);
  }

  std::int64_t size() const { return loader_.batches_per_epoch(); }

 private:
  Loader loader_;
  std::int64_t epochs_ = 0;
};

// What is left of an epoch: going on with it begins no other.
class Epoch {
 public:
  explicit Epoch(std::shared_ptr<Batches> batches)
      : batches_(std::move(batches)), next_{batches_->begin(), 0} {}

  py::tuple next() {
    if (next_.batch == batches_->size()) throw py::stop_iteration();
    py::tuple batch = batches_->at(next_);
    ++next_.batch;
    return batch;
  }

 private:
  std::shared_ptr<Batches> batches_;
  BatchPosition next_;
};

py::tuple example(const Dataset& dataset, std::int64_t index) {
  const std::int64_t row = index < 0 ? index + dataset.size() : index;
  if (row < 0 || row >= dataset.size()) {
    throw py::index_error(
        fmt::format("example {} of {}", index, dataset.size()));
  }
  std::vector<Tensor> parts;
  std::vector<TensorView> views;
  for (const Feature& feature : dataset.features()) {
    TensorType type{feature.type.dtype, {1}};
    for (const Dim dim : feature.type.shape) type.shape.push_back(dim);
    parts.push_back(Tensor::zeros(type));
    views.push_back(parts.back().view());
  }
  dataset.read(std::span(&row, 1), views);
  py::tuple result(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    result[i] =
        py::cast(Value(parts[i].reshape(dataset.features()[i].type.shape)));
  }
  return result;
}

py::list features_of(const Dataset& dataset) {
  py::list all;
  for (const Feature& feature : dataset.features()) {
    all.append(py::make_tuple(feature.name, feature.type));
  }
  return all;
}

py::dict splits_from(const DatasetSplits& splits) {
  py::dict parts;
  const auto add = [&](const char* name, const DatasetRef& part) {
    if (part != nullptr) {
      parts[name] = py::cast(std::const_pointer_cast<Dataset>(part));
    }
  };
  add("train", splits.train);
  add("valid", splits.valid);
  add("test", splits.test);
  return parts;
}

DatasetRef set_of_arrays(const py::dict& arrays,
                         std::vector<std::string> classes,
                         const std::string& name) {
  std::vector<TensorFeature> features;
  for (const auto& [key, value] : arrays) {
    features.push_back(
        {py::cast<std::string>(key), value_from(value).tensor({})});
  }
  return tensor_set(name, std::move(features), std::move(classes));
}

}  // namespace

void bind_data(py::module_& module) {
  py::module_ data = module.def_submodule("data");
  py::class_<Epoch>(data, "_Epoch")
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &Epoch::next);
  py::class_<Batches, std::shared_ptr<Batches>>(
      data, "Batches", "Batches of a data set: each `for` is one epoch.")
      .def("__len__", &Batches::size)
      .def("__iter__", [](const std::shared_ptr<Batches>& self) {
        return std::make_unique<Epoch>(self);
      });
  py::class_<Dataset, std::shared_ptr<Dataset>>(
      data, "Dataset", "Examples by number; what a reader opens.")
      .def("__len__", &Dataset::size)
      .def("__getitem__", &example)
      .def_property_readonly("name", [](const Dataset& d) { return d.name(); })
      .def_property_readonly("classes",
                             [](const Dataset& d) { return d.classes(); })
      .def_property_readonly("words",
                             [](const Dataset& d) { return d.words(); })
      .def_property_readonly("features", &features_of)
      .def(
          "batches",
          [](const std::shared_ptr<Dataset>& self, std::int64_t batch,
             bool shuffle, std::uint64_t seed, bool drop_last, int prefetch,
             const std::vector<std::string>& augment) {
            LoaderOptions options;
            options.batch = batch;
            options.shuffle = shuffle;
            options.seed = seed;
            options.drop_last = drop_last;
            options.prefetch = prefetch;
            options.augment = augment;
            return std::make_shared<Batches>(self, options);
          },
          py::arg("batch"), py::kw_only(), py::arg("shuffle") = false,
          py::arg("seed") = 0, py::arg("drop_last") = false,
          py::arg("prefetch") = LoaderOptions().prefetch,
          py::arg("augment") = std::vector<std::string>{},
          "Tuples of tensors, made ahead by a thread of their own; images are "
          "numbers by then, and are changed by `augment`.")
      .def("__repr__", [](const Dataset& self) {
        return fmt::format("<weft.data.Dataset {}, {} examples>", self.name(),
                           self.size());
      });
  data.def(
      "open",
      [](const std::string& name, const py::object& folder, std::int64_t batch,
         std::int64_t steps, const py::kwargs& options) {
        DataRequest request{.name = name, .batch = batch, .steps = steps};
        if (!folder.is_none()) {
          request.folder = py::cast<std::string>(
              py::module_::import("os").attr("fspath")(folder));
        }
        request.options = options_from(options);
        DatasetSplits splits;
        {
          const py::gil_scoped_release nogil;
          splits = open_data(request);
        }
        return splits_from(splits);
      },
      py::arg("name"), py::arg("folder") = py::none(), py::kw_only(),
      py::arg("batch") = DataRequest().batch,
      py::arg("steps") = DataRequest().steps,
      "The parts of a data set by name: train, test, and valid where there is "
      "one. Without a folder it is looked for in WEFT_DATA and in the cache.");
  data.def(
      "from_arrays", &set_of_arrays, py::arg("arrays"),
      py::arg("classes") = std::vector<std::string>{},
      py::arg("name") = "arrays",
      "A data set of arrays by name, the last one the label; their first axis "
      "counts examples. Shares their memory.");
  data.def("readers", [] {
    std::map<std::string, std::string> summaries;
    for (const DatasetDef& def : dataset_registry().all()) {
      summaries[def.name] = def.summary;
    }
    return summaries;
  });
}

}  // namespace weft::python
