// Where the batches of a training come from: a data set that is read by a
// loader, walks over a graph, an environment that answers actions, a stream.
//
// Threads: caller synchronises; one thread takes the batches.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/tensor/tensor.h"

namespace weft {

// One tensor of each batch.
struct BatchInput {
  std::string name;  // "image"
  TensorType type;   // of a full batch; the first axis counts examples
  // Axes beside the first whose size differs from batch to batch, as the length
  // of sentences does; `type` has the largest.
  std::vector<int> varying = {};
  // What that size is called, where inputs share it; empty: it is this input's
  // own.
  std::string size_name = {};
};

// Where in the sequence of batches: both count from 0.
struct BatchPosition {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;

  bool operator==(const BatchPosition&) const = default;
};

struct Batch {
  std::vector<Tensor> tensors;  // as inputs() lists them
  std::int64_t size = 0;        // examples; 0 where others have them all
  // Rows of the tensors behind these that only fill them up, and count nowhere:
  // where a source draws how many examples a batch has, few sizes are planned
  // for.
  std::int64_t padding = 0;
  // It counts for all workers together; 0: the source has run dry, and has no
  // batch.
  std::int64_t whole_size = 0;
  BatchPosition position;
};

// The part of each batch that one of several workers gets.
struct Shard {
  int rank = 0;
  int ranks = 1;
};

class BatchSource {
 public:
  virtual ~BatchSource() = default;

  // The tensors of this worker's part of a full batch; they stay the same.
  virtual const std::vector<BatchInput>& inputs() const = 0;
  virtual std::int64_t batches_per_epoch() const = 0;
  // Examples that an epoch visits, by all workers together.
  virtual std::int64_t examples_per_epoch() const = 0;

  // The next batch; after the last of an epoch the first of the next one. Its
  // tensors hold until the following call of next() or seek(). Throws what went
  // wrong while the batch was made.
  virtual const Batch& next() = 0;

  // The position of the batch that next() will return.
  virtual BatchPosition position() const = 0;
  // Continues at `position`, whose batch may also be batches_per_epoch(). What
  // comes then is what an uninterrupted run would have had. Throws
  // Error(kInvalidArgument) for others.
  virtual void seek(BatchPosition position) = 0;

  // What the model, as it is at that moment, makes of inputs. An environment
  // asks for the actions of its next batch; others have no use for it.
  using Answer =
      std::function<std::vector<Tensor>(std::span<const Tensor> known)>;
  virtual void answer_with(Answer) {}
};

}  // namespace weft
