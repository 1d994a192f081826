#include "weft/nn/padded_words.h"

#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/index.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::nn {

Value at_last_word(const Value& x, const Value& is_word) {
  const Shape& shape = x.shape();
  const Value word = cast(is_word, x.dtype());
  // A word is the last one if none stands behind it.
  const Value behind = pad(slice_axis(word, 1, 1, kToEnd), {0, 0}, {0, 1});
  const Value is_last =
      reshape(transpose(word - behind), {shape[0], shape[1], 1});
  return sum(x * is_last, {0});
}

Value reverse_words(const Value& x, const Value& is_word) {
  const Shape& shape = x.shape();
  const Value length =
      sum(cast(is_word, DType::kI64), {1}, /*keep_dims=*/true);  // [batch, 1]
  const Value step = iota(shape[0]);
  const Value from =
      transpose(where(less(step, length), length - 1 - step, step));
  // In one long list of rows, those of a step are neighbours.
  const Value row = from * element_count({shape[1]}, DType::kI64) +
                    iota(shape[1]);  // [steps, batch]
  const Value rows = reshape(x, {dim_multiply(shape[0], shape[1]), shape[2]});
  return gather(rows, row);
}

}  // namespace weft::nn
