// Recurrent layers over whole sequences, [steps, batch, width]. They compute
// in f32 whatever the precision around them.
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

}  // namespace weft::nn
