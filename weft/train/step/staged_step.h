// A cut of a step description as a function under construction: its parameters,
// and what becomes of the values of the entries until they are its results.
//
//   FunctionBuilder& builder = program.builder(name_of(cut));
//   StagedStep staged(description, cut, builder);
//   program.add(builder.build([&] { return staged.compute(); }));
//
// Threads: as FunctionBuilder.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "weft/nn/staging.h"
#include "weft/optim/optimizer.h"
#include "weft/train/step/description.h"
#include "weft/train/step/step_cut.h"

namespace weft {

class StagedStep {
 public:
  // Adds a parameter to the function for each entry that the cut reads, in
  // their order. The description must outlive this.
  StagedStep(const StepDescription& description, StepCut cut,
             FunctionBuilder& builder);

  bool is_read(std::size_t entry) const { return values_[entry].is_defined(); }

  // The results of the function: predictions or rows if the cut tells them,
  // then what it writes, in the order of the entries. Once, while the function
  // is built.
  std::vector<Value> compute();
  // Which kParameters, among these, the rows are of.
  const std::vector<std::size_t>& tables() const { return tables_; }

 private:
  std::vector<Value> of_role(EntryRole role) const;
  Value only(EntryRole role) const { return of_role(role).at(0); }

  std::vector<Value> predict();
  void measure();
  void measure_privately();
  void take_next_values();
  void set_measures(const std::vector<Measure>& measures);
  void differentiate(const Value& loss);
  std::vector<Value> look_up();
  bool follows_from_batch(const Value& value) const;
  void update();
  void clip(std::span<ParameterStep> steps) const;
  Bindings usual_sizes() const;

  const StepDescription& description_;
  StepCut cut_;
  std::optional<nn::Staging> staged_;
  // They stand at the index of the entry; the next ones replace them as they
  // are computed.
  std::vector<Value> values_;
  std::vector<std::size_t> tables_;
};

}  // namespace weft
