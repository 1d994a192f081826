// Recurrent layers over whole sequences, [steps, batch, width]. They compute
// in f32 whatever the precision around them; what they multiply by is what
// RecurrentWeightsScope says (graph/surroundings.h).
//
// Threads: as Module.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

struct RecurrentOptions {
  std::int64_t layers = 1;
  // When positive, the state is carried from one call to the next for batches
  // of exactly this size; else every call starts from zero.
  std::int64_t carried_batch = 0;
  double dropout = 0;  // between layers
};

// Recurrent layers on top of each other.
class RecurrentStack : public Layer {
 protected:
  template <class Cell>
  void stack(std::int64_t inputs, std::int64_t hidden,
             const RecurrentOptions& options);
  Value forward(const Value& x) override;

 private:
  std::vector<std::shared_ptr<Layer>> layers_;
};

// Layer k has the parameters k.w_ih [inputs, 4 hidden], k.w_hh
// [hidden, 4 hidden] and k.bias [4 hidden]. The matrices start uniform with
// bound 1/sqrt(hidden), the bias at zero.
class Lstm : public RecurrentStack {
 public:
  Lstm(std::int64_t inputs, std::int64_t hidden, RecurrentOptions options = {});

 private:
  class Cell;
};

// Layer k has k.w_ih [inputs, 3 hidden], k.w_hh [hidden, 3 hidden] and the
// biases k.b_ih and k.b_hh [3 hidden], started as for Lstm.
class Gru : public RecurrentStack {
 public:
  Gru(std::int64_t inputs, std::int64_t hidden, RecurrentOptions options = {});

 private:
  class Cell;
};

// Simple recurrent units (Lei et al., "Simple recurrent units for highly
// parallelizable recurrence", 2017, eq. 1 to 4): the state of a unit meets no
// other's, so that only elementwise steps go one by one. Layer k has k.weight
// [inputs, 3 hidden], [inputs, 4 hidden] where inputs and hidden differ, in the
// order candidate, forget, reset, highway; k.state_weight and k.bias [2
// hidden]. The weight starts uniform with bound sqrt(3/inputs), the others at
// zero.
class Sru : public RecurrentStack {
 public:
  Sru(std::int64_t inputs, std::int64_t hidden, RecurrentOptions options = {});

 private:
  class Cell;
};

// Whether an Lstm or a Gru is somewhere in the model.
bool has_recurrent_layer(const Module& model);

}  // namespace weft::nn
