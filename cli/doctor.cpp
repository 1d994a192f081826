// weft doctor: what this machine offers, and whether Weft works on it.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/base/cpu.h"
#include "weft/base/parallel.h"
#include "weft/base/version.h"
#include "weft/data/fetch.h"
#include "weft/graph/kernel.h"
#include "weft/graph/registry.h"
#include "weft/kernels/onednn/processor.h"
#include "weft/kernels/onednn/version.h"
#include "weft/nn/model.h"
#include "weft/ops/arithmetic.h"
#include "weft/optim/optimizer.h"

namespace weft::cli {
namespace {

// Does one op give the right numbers?
bool computes() {
  const Value a = Tensor::of<float>({3}, {1, 2, 3});
  const Value b = Tensor::of<float>({3}, {10, 20, 30});
  const Tensor sum = (a + b).tensor();
  return sum.item(0) == 11 && sum.item(1) == 22 && sum.item(2) == 33;
}

Json found_data() {
  Json found = Json::object();
  for (const DatasetDef& def : dataset_registry().all()) {
    if (!def.is_named_set) continue;
    try {
      found[def.name] = locate_data(def).string();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnavailable) throw;
      found[def.name] = nullptr;
    }
  }
  return found;
}

Json examine() {
  const char* data = std::getenv("WEFT_DATA");
  return {{"weft", kVersion},
          {"cpu", cpu_model()},
          {"vectors", vector_instructions()},
          {"bf16_products", !onednn::dtype_declined(DType::kBF16)},
          {"threads", thread_count()},
          {"memory_bytes", memory_bytes()},
          {"onednn", onednn::version()},
          {"ops", op_registry().all().size()},
          {"models", model_registry().all().size()},
          {"optimizers", optimizer_registry().all().size()},
          {"WEFT_DATA", data == nullptr ? Json(nullptr) : Json(data)},
          {"cache", data_cache().string()},
          {"data", found_data()},
          {"computes", computes()}};
}

void print_text(const Json& found) {
  const auto row = [](const char* name, const std::string& value) {
    fmt::print("{:<12} {}\n", name, value);
  };
  row("weft", found["weft"]);
  row("cpu", fmt::format("{}, {}, {} threads", found["cpu"].get<std::string>(),
                         found["vectors"].get<std::string>(),
                         found["threads"].get<int>()));
  row("bf16",
      found["bf16_products"] ? "in hardware" : "emulated: slower than f32");
  row("memory", bytes_text(found["memory_bytes"].get<double>()));
  row("oneDNN", found["onednn"]);
  row("engine",
      fmt::format("{} ops, {} models, {} optimizers", found["ops"].get<int>(),
                  found["models"].get<int>(), found["optimizers"].get<int>()));
  row("WEFT_DATA", found["WEFT_DATA"].is_null()
                       ? "not set"
                       : found["WEFT_DATA"].get<std::string>());
  for (const auto& [name, place] : found["data"].items()) {
    row("data",
        fmt::format("{:<14} {}", name,
                    place.is_null() ? "not found" : place.get<std::string>()));
  }
  row("1 + 1", found["computes"] ? "works" : "is wrong");
}

void doctor(bool as_json) {
  const Json found = examine();
  if (as_json) {
    print_json(found);
  } else {
    print_text(found);
  }
  if (!found["computes"]) {
    throw Error(ErrorCode::kInternal, "doctor", "this machine computes wrong");
  }
}

}  // namespace

void add_doctor(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("doctor", "Say what this machine offers");
  auto as_json = std::make_shared<bool>(false);
  verb->add_flag("--json", *as_json, "print one JSON object");
  verb->callback([as_json] { doctor(*as_json); });
}

}  // namespace weft::cli
