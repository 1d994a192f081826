// weft doctor: what this machine offers, and whether Weft works on it.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/base/cpu.h"
#include "weft/base/parallel.h"
#include "weft/base/version.h"
#include "weft/comm/transport/transport_def.h"
#include "weft/data/fetch.h"
#include "weft/graph/kernel.h"
#include "weft/graph/kernel_times.h"
#include "weft/graph/registry.h"
#include "weft/kernels/onednn/processor.h"
#include "weft/kernels/onednn/version.h"
#include "weft/nn/model.h"
#include "weft/ops/arithmetic.h"
#include "weft/optim/optimizer.h"

namespace weft::cli {
namespace {

// Does one op give the right numbers?
// This goes the whole way of an op: registry, inference, choice of a kernel,
// and its instructions on this processor.
bool computes() {
  const Value a = Tensor::of<float>({3}, {1, 2, 3});
  const Value b = Tensor::of<float>({3}, {10, 20, 30});
  const Tensor sum = (a + b).tensor();
  return sum.item(0) == 11 && sum.item(1) == 22 && sum.item(2) == 33;
}

Json found_data() {
  Json found = Json::object();
  for (const DatasetDef& def : dataset_registry().all()) {
    // A format is no data set that could be found.
    if (!def.is_named_set) continue;
    try {
      found[def.name] = locate_data(def).string();
    } catch (const Error& error) {
      // Data that is not here is an answer; all else is a mistake.
      if (error.code() != ErrorCode::kUnavailable) throw;
      found[def.name] = nullptr;
    }
  }
  return found;
}

Json cap_found() {
  const auto cap = instruction_cap();
  return cap ? Json(to_string(*cap)) : Json(nullptr);
}

// How matrix products and convolutions are computed, by dtype.
Json products() {
  Json found = Json::object();
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    found[std::string(to_string(dtype))] =
        onednn::dtype_declined(dtype) ? "emulated in f32" : "in hardware";
  }
  return found;
}

// How kernels are chosen, and what is known of their times here.
Json kernel_choice() {
  const KernelPolicy policy = kernel_policy();
  if (policy == KernelPolicy::kRanked) return {{"chosen", "by rank"}};
  const TimesFile times = kernel_times_of_machine();
  return {{"chosen", policy == KernelPolicy::kMeasured
                         ? "by measured time"
                         : "by times measured before"},
          {"file", times.file().string()},
          {"calls", times.size()},
          {"complaint", times.complaint()}};
}

// Whom each transport trusts.
Json transports() {
  Json found = Json::object();
  for (const TransportDef& def : transport_registry().all()) {
    found[def.name] = def.trust;
  }
  return found;
}

// Both outputs are made from one object, so that they cannot disagree.
Json examine() {
  const char* data = std::getenv("WEFT_DATA");
  return {{"weft", kVersion},
          {"cpu", cpu_model()},
          {"vectors", vector_instructions()},
          {"instruction_set", to_string(machine_instruction_set())},
          {"WEFT_CPU", cap_found()},
          {"products", products()},
          {"threads", thread_count()},
          {"memory_bytes", memory_bytes()},
          {"onednn", onednn::version()},
          {"libraries", kernel_libraries()},
          {"kernels", kernel_choice()},
          {"ops", op_registry().all().size()},
          {"models", model_registry().all().size()},
          {"optimizers", optimizer_registry().all().size()},
          {"transports", transports()},
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
  row("instructions",
      found["WEFT_CPU"].is_null()
          ? found["instruction_set"].get<std::string>()
          : fmt::format("{}, of {}: WEFT_CPU says so",
                        found["WEFT_CPU"].get<std::string>(),
                        found["instruction_set"].get<std::string>()));
  for (const auto& [dtype, how] : found["products"].items()) {
    row(dtype.c_str(), "products " + how.get<std::string>());
  }
  row("memory", bytes_text(found["memory_bytes"].get<double>()));
  row("libraries", found["libraries"]);
  const Json& kernels = found["kernels"];
  row("kernels", "chosen " + kernels["chosen"].get<std::string>());
  if (kernels.contains("file")) {
    row("", fmt::format("{} calls in {}", kernels["calls"].get<int>(),
                        kernels["file"].get<std::string>()));
    if (const std::string complaint = kernels["complaint"];
        !complaint.empty()) {
      row("", complaint);
    }
  }
  row("engine",
      fmt::format("{} ops, {} models, {} optimizers", found["ops"].get<int>(),
                  found["models"].get<int>(), found["optimizers"].get<int>()));
  for (const auto& [name, trust] : found["transports"].items()) {
    row("transport", fmt::format("{:<7} {}", name, trust.get<std::string>()));
  }
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
  // The findings are printed even then, as they may say why; the exit code is
  // for scripts.
  if (!found["computes"]) {
    throw Error(ErrorCode::kInternal, "doctor", "this machine computes wrong");
  }
}

void add_doctor(CLI::App& verb) {
  auto as_json = std::make_shared<bool>(false);
  verb.add_flag("--json", *as_json, "print one JSON object");
  verb.callback([as_json] { doctor(*as_json); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_doctor(cli::VerbRegistry& verbs) {
  verbs.add({.name = "doctor",
             .summary = "Say what this machine offers",
             .order = 70,
             .add = cli::add_doctor});
}

}  // namespace weft
