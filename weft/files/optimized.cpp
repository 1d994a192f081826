#include "weft/files/optimized.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "weft/compiler/frozen.h"
#include "weft/files/exported.h"
#include "weft/files/exported_format.h"
#include "weft/runtime/executable.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kReportKey = "weft.optimized";

// Free dims are symbols that stand alone in a shape.
Bindings bound_to(const Function& function, std::int64_t batch) {
  Bindings dims;
  for (const ValueId id : function.parameters()) {
    for (const Dim dim : function.type(id).shape.dims()) {
      if (is_symbolic(dim)) match({dim}, {batch}, dims);
    }
  }
  return dims;
}

// The hidden values behind a function's arguments, by kind.
struct HiddenParts {
  std::vector<bool> is_frozen;  // by parameter
  std::vector<Tensor> frozen;
  std::vector<Hidden> assigned;
};

HiddenParts parts_of(const GraphFunction& function) {
  HiddenParts parts;
  parts.is_frozen.resize(function.argument_count());
  for (const Hidden& hidden : function.hidden()) {
    parts.is_frozen.push_back(!hidden.is_assigned);
    if (hidden.is_assigned) {
      parts.assigned.push_back(hidden);
    } else {
      parts.frozen.push_back(
          hidden.current(function.function().name()).tensor());
    }
  }
  return parts;
}

Json json_of(const std::vector<SearchStep>& steps) {
  Json all = Json::array();
  for (const SearchStep& step : steps) {
    all.push_back(
        {{"rule", step.rule}, {"layer", step.layer}, {"gain", step.gain}});
  }
  return all;
}

std::vector<SearchStep> steps_of(const Json& all) {
  std::vector<SearchStep> steps;
  for (const Json& each : all) {
    steps.push_back({each.at("rule"), each.at("layer"), each.at("gain")});
  }
  return steps;
}

// Makes the functions of a file faster, one after another.
class FunctionOptimizer {
 public:
  FunctionOptimizer(std::int64_t batch, const OptimizeOptions& options)
      : batch_(batch), options_(options) {}

  struct Result {
    std::unique_ptr<const GraphFunction> function;
    OptimizeReport report;
  };
  Result run(const GraphFunction& from) {
    const Function& function = from.function();
    HiddenParts hidden = parts_of(from);
    Optimized optimized = optimize(function, hidden.is_frozen,
                                   bound_to(function, batch_), options_);
    FrozenParts parts = split_frozen(optimized.function, hidden.is_frozen);
    const std::vector<Tensor> prepared =
        Executable(std::move(parts.preparation)).run(hidden.frozen);
    std::vector<Hidden> now_hidden = std::move(hidden.assigned);
    for (const Tensor& tensor : prepared) {
      now_hidden.push_back(Hidden::captured(shared(tensor)));
    }
    const std::string name = parts.rest.name();
    return {std::make_unique<const GraphFunction>(
                Graph{{std::move(parts.rest)}}, name, std::move(now_hidden)),
            std::move(optimized.report)};
  }

 private:
  // What another function has made of its weights already, where that is the
  // same: the file then has it once.
  Tensor shared(const Tensor& tensor) {
    for (const Tensor& known : known_) {
      if (known.type() == tensor.type() && identical(known, tensor))
        return known;
    }
    return known_.emplace_back(tensor);
  }

  std::int64_t batch_;
  const OptimizeOptions& options_;
  std::vector<Tensor> known_;
};

}  // namespace

OptimizeReport optimize_exported(const std::filesystem::path& from,
                                 const std::filesystem::path& to,
                                 std::int64_t batch,
                                 const OptimizeOptions& options) {
  const ExportedFile file(from);
  FunctionOptimizer optimizer(batch, options);
  FunctionsByName functions;
  std::vector<std::unique_ptr<const GraphFunction>> made;
  // They keep the variables that functions assign until the file is written,
  // and what is not optimized.
  std::vector<std::unique_ptr<const ExportedFunction>> read;
  std::optional<OptimizeReport> report;
  for (const std::string& name : function_names(file.metadata())) {
    const GraphFunction& whole =
        read.emplace_back(std::make_unique<const ExportedFunction>(file, name))
            ->function();
    try {
      auto [function, found] = optimizer.run(whole);
      functions[name] = made.emplace_back(std::move(function)).get();
      if (!report) report = std::move(found);
    } catch (const Error& error) {
      // Others than the main one may branch, as a search for sentences does.
      if (name == kMainFunction || error.code() != ErrorCode::kUnsupported)
        throw;
      functions[name] = &whole;
    }
  }
  TextMetadata more = texts_beside_functions(file.metadata());
  more[kReportKey] = to_json(*report);
  export_functions(to, functions, more);
  return *report;
}

std::optional<OptimizeReport> optimize_report(const TextMetadata& metadata,
                                              std::string_view where) {
  const auto found = metadata.find(kReportKey);
  if (found == metadata.end()) return std::nullopt;
  return parse_optimize_report(found->second, where);
}

std::string to_json(const OptimizeReport& report) {
  return Json{{"taken", report.taken},
              {"predicted_before", report.predicted_before},
              {"predicted_after", report.predicted_after},
              {"measured_before", report.measured_before},
              {"measured_after", report.measured_after},
              {"steps", json_of(report.steps)},
              {"refused", json_of(report.refused)},
              {"parts", report.parts},
              {"expanded", report.expanded},
              {"tried", report.tried},
              {"timed", report.timed},
              {"is_out_of_time", report.is_out_of_time}}
      .dump();
}

OptimizeReport parse_optimize_report(std::string_view text,
                                     std::string_view where) {
  try {
    const Json json = Json::parse(text);
    OptimizeReport report;
    report.taken = json.at("taken");
    report.predicted_before = json.at("predicted_before");
    report.predicted_after = json.at("predicted_after");
    report.measured_before = json.at("measured_before");
    report.measured_after = json.at("measured_after");
    report.steps = steps_of(json.at("steps"));
    report.refused = steps_of(json.at("refused"));
    report.parts = json.at("parts");
    report.expanded = json.at("expanded");
    report.tried = json.at("tried");
    report.timed = json.at("timed");
    report.is_out_of_time = json.at("is_out_of_time");
    return report;
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::kDataLoss, where, "damaged report: {}",
                error.what());
  }
}

}  // namespace weft
