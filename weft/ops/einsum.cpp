#include "weft/ops/einsum.h"

#include <limits>

#include "weft/base/index.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/matmul.h"
#include "weft/ops/pick.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/equation.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

// What a size that is not known counts as, where pairs are compared.
// The sizes only rank the pairs: a wrong guess costs time, not correctness.
constexpr double kTypicalSize = 64;

// A factor of the sum, and the label of each of its axes.
struct Factor {
  Value value;
  Labels labels;
};

std::size_t place_of(const Labels& labels, Label label) {
  return at(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

Labels joined(Labels a, const Labels& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Labels in_either(const Labels& a, const Labels& b) {
  return joined(a, those_of(b, [&](Label label) { return !has(a, label); }));
}

// How many elements the labels go through together.
double volume(const Equation& equation, const Labels& labels) {
  double size = 1;
  for (const Label label : labels) {
    const Dim dim = equation.sizes.at(label);
    size *= is_symbolic(dim) ? kTypicalSize : static_cast<double>(dim);
  }
  return size;
}

// Whether others than factors a and b, or the result, have a label.
bool is_needed(const Equation& equation, const std::vector<Labels>& factors,
               std::size_t a, std::size_t b, Label label) {
  if (has(equation.result, label)) return true;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (i != a && i != b && has(factors[i], label)) return true;
  }
  return false;
}

// What is left of a pair's labels when they are multiplied and summed.
Labels labels_of_pair(const Equation& equation,
                      const std::vector<Labels>& factors, std::size_t a,
                      std::size_t b) {
  // A label stays if the result or another factor has it; all others are summed
  // over in this product.
  return those_of(in_either(factors[a], factors[b]), [&](Label label) {
    return is_needed(equation, factors, a, b, label);
  });
}

// The pair, a < b, that takes the fewest multiplications; of equal ones, that
// with the smaller result. The choice is greedy: the best order of all takes
// time that is exponential in the number of factors.
std::pair<std::size_t, std::size_t> cheapest_pair(
    const Equation& equation, const std::vector<Labels>& factors) {
  constexpr double kMost = std::numeric_limits<double>::infinity();
  std::pair<std::size_t, std::size_t> best{0, 1};
  // The first number is what multiplying takes, and the second what the next
  // product will have to read.
  std::pair<double, double> least{kMost, kMost};
  for (std::size_t b = 1; b < factors.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      const std::pair<double, double> cost{
          volume(equation, in_either(factors[a], factors[b])),
          volume(equation, labels_of_pair(equation, factors, a, b))};
      if (cost < least) {
        least = cost;
        best = {a, b};
      }
    }
  }
  return best;
}

Shape sizes_of(const Equation& equation, const Labels& labels) {
  Shape shape;
  for (const Label label : labels) shape.push_back(equation.sizes.at(label));
  return shape;
}

// The axes in the order of `labels`, which are those of the factor.
Value arranged(const Factor& factor, const Labels& labels) {
  if (factor.labels == labels) return factor.value;
  Integers order;
  for (const Label label : labels) {
    order.push_back(static_cast<std::int64_t>(place_of(factor.labels, label)));
  }
  return transpose(factor.value, order);
}

// Axes of size 1 that others stretch are left out.
Factor without_ones(const Equation& equation, const Factor& factor) {
  Labels kept;
  Shape shape;
  for (std::size_t i = 0; i < factor.labels.size(); ++i) {
    const Dim dim = factor.value.shape()[static_cast<int>(i)];
    // An axis of 1 under a label that is longer elsewhere is repeated by the
    // sum; a product without the axis repeats it without a copy.
    if (dim != equation.sizes.at(factor.labels[i])) continue;
    kept.push_back(factor.labels[i]);
    shape.push_back(dim);
  }
  if (kept.size() == factor.labels.size()) return factor;
  return {reshape(factor.value, shape), kept};
}

// The diagonal of the axes that have one label.
Factor with_diagonals(Factor factor) {
  for (std::size_t i = 0; i < factor.labels.size(); ++i) {
    const auto first = place_of(factor.labels, factor.labels[i]);
    if (first == i) continue;
    factor.labels.erase(factor.labels.begin() + static_cast<std::ptrdiff_t>(i));
    // Along the second axis, the place is the same as along the first.
    Shape column;
    Shape shape;
    for (int axis = 0; axis < factor.value.shape().rank(); ++axis) {
      const Dim dim = factor.value.shape()[axis];
      if (at(axis) == i) continue;
      shape.push_back(dim);
      column.push_back(at(axis) == first ? dim : 1);
    }
    // Picking along the second axis at the number of the first takes one
    // element of each row: the diagonal. Its gradient comes with pick().
    const Value places = iota(shape[static_cast<int>(first)]);
    factor.value =
        pick(factor.value, broadcast_to(reshape(places, column), shape),
             static_cast<std::int64_t>(i));
    // The axis that moved to this place has not been looked at.
    --i;
  }
  return factor;
}

Factor summed(const Factor& factor, const Labels& kept) {
  Integers axes;
  for (std::size_t i = 0; i < factor.labels.size(); ++i) {
    if (!has(kept, factor.labels[i])) {
      axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (axes.empty()) return factor;
  return {sum(factor.value, axes),
          those_of(factor.labels, [&](Label l) { return has(kept, l); })};
}

// Nothing is recorded where nothing changes; eagerly, that saves a copy.
Value as_shape(const Value& x, const Shape& shape) {
  return x.shape() == shape ? x : reshape(x, shape);
}

// A factor as a stack of matrices, or of transposed ones where it lies so.
struct Matrices {
  Value value;
  bool is_transposed;

  Matrices(const Equation& equation, const Factor& factor, const Labels& stack,
           Labels rows, Labels columns)
      // matmul() reads a transposed matrix where it lies; only other orders
      // need a transpose of their own, which copies.
      : is_transposed(factor.labels != joined(joined(stack, rows), columns) &&
                      factor.labels == joined(joined(stack, columns), rows)) {
    if (is_transposed) std::swap(rows, columns);
    Shape shape = sizes_of(equation, stack);
    // One axis for all leaves room for those of the matrices.
    if (shape.rank() + 2 > Shape::kMaxRank) shape = {dim_product(shape.dims())};
    for (const Labels& labels : {rows, columns}) {
      shape.push_back(dim_product(sizes_of(equation, labels).dims()));
    }
    value =
        as_shape(arranged(factor, joined(joined(stack, rows), columns)), shape);
  }
};

// The labels of a pair: those of both that stay, those of both that are summed
// over, and those of one alone.
struct PairLabels {
  Labels stack, summed, own_a, own_b;

  PairLabels(const Labels& a, const Labels& b, const Labels& kept) {
    stack = those_of(a, [&](Label l) { return has(b, l) && has(kept, l); });
    summed = those_of(a, [&](Label l) { return has(b, l) && !has(kept, l); });
    own_a = those_of(a, [&](Label l) { return !has(b, l); });
    own_b = those_of(b, [&](Label l) { return !has(a, l); });
  }
};

Factor matrix_product(const Equation& equation, const Factor& a,
                      const Factor& b, const PairLabels& labels) {
  // A sum over shared labels is a product [own_a, summed] [summed, own_b] for
  // each place of the stack.
  const Matrices left(equation, a, labels.stack, labels.own_a, labels.summed);
  const Matrices right(equation, b, labels.stack, labels.summed, labels.own_b);
  const Value product = matmul(
      left.value, right.value,
      {.transpose_a = left.is_transposed, .transpose_b = right.is_transposed});
  const Labels result =
      joined(joined(labels.stack, labels.own_a), labels.own_b);
  return {as_shape(product, sizes_of(equation, result)), result};
}

// Element by element, then summed.
Factor plain_product(const Equation& equation, const Factor& a, const Factor& b,
                     const PairLabels& labels) {
  const Labels result =
      joined(joined(labels.stack, labels.own_a), labels.own_b);
  const Labels all = joined(result, labels.summed);
  const auto spread = [&](const Factor& factor) {
    const auto is_own = [&](Label label) { return has(factor.labels, label); };
    Shape shape;
    for (const Label label : all) {
      shape.push_back(is_own(label) ? equation.sizes.at(label) : 1);
    }
    return as_shape(arranged(factor, those_of(all, is_own)), shape);
  };
  return summed({spread(a) * spread(b), all}, result);
}

Factor product_of(const Equation& equation, const Factor& a, const Factor& b,
                  const Labels& kept) {
  const PairLabels labels(a.labels, b.labels, kept);
  const bool is_matrix_product =
      // matmul() takes floats. Where neither has an axis of its own, a product
      // would be of a row and a column, which multiplying and summing does in
      // one pass.
      is_floating(a.value.dtype()) && !labels.summed.empty() &&
      !(labels.own_a.empty() && labels.own_b.empty());
  return (is_matrix_product ? matrix_product : plain_product)(equation, a, b,
                                                              labels);
}

Equation equation_of(const OpCall& call) {
  std::vector<Shape> shapes;
  for (const TensorType& type : call.inputs) shapes.push_back(type.shape);
  return read_equation(
      call.attributes.text("equation"), shapes,
      [&](const std::string& why) { return call.error("{}", why); });
}

std::vector<TensorType> infer_einsum(const OpCall& call) {
  require_one_dtype(call);
  require_number(call);
  const Equation equation = equation_of(call);
  return {{call.input(0).dtype, sizes_of(equation, equation.result)}};
}

std::vector<Value> lower_einsum(const Attributes& attributes,
                                std::span<const Value> inputs) {
  std::vector<Shape> shapes;
  for (const Value& input : inputs) shapes.push_back(input.shape());
  const Equation equation = read_equation(
      attributes.text("equation"), shapes, [](const std::string& why) {
        return Error(ErrorCode::kInvalidArgument, "einsum", "{}", why);
      });
  std::vector<Factor> factors;
  std::vector<Labels> labels;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    // Each operand is brought to distinct labels of full size, which the steps
    // below count on.
    factors.push_back(with_diagonals(
        without_ones(equation, {inputs[i], equation.operands[i]})));
    labels.push_back(factors[i].labels);
  }
  for (std::size_t i = 0; i < factors.size(); ++i) {
    // Labels that only one operand has are summed at once: every product after
    // it is smaller.
    factors[i] = summed(factors[i], labels_of_pair(equation, labels, i, i));
    labels[i] = factors[i].labels;
  }
  while (factors.size() > 1) {
    const auto [a, b] = cheapest_pair(equation, labels);
    factors[a] = product_of(equation, factors[a], factors[b],
                            labels_of_pair(equation, labels, a, b));
    labels[a] = factors[a].labels;
    factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(b));
    labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(b));
  }
  // One factor is left, whose labels are those of the result in some order.
  return {arranged(factors[0], equation.result)};
}

// A multiplication and an addition for each element that a pair goes through.
Cost einsum_cost(const OpCall& call) {
  const Equation equation = equation_of(call);
  std::vector<Labels> labels = equation.operands;
  // A single operand is only summed: half of a multiplication and an addition
  // for each element.
  double products = volume(equation, labels[0]) / 2;
  while (labels.size() > 1) {
    const auto [a, b] = cheapest_pair(equation, labels);
    products += volume(equation, in_either(labels[a], labels[b]));
    labels[a] = labels_of_pair(equation, labels, a, b);
    labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(b));
  }
  return Cost::of(call, 2 * products);
}

// The equations are products, batches, diagonals, traces, outer and inner
// products, and axes of size 1 that broadcast: what each is lowered to differs.
std::vector<OpSample> einsum_samples() {
  const auto of = [](const char* equation, std::vector<InputSample> operands) {
    return OpSample{std::move(operands), {{"equation", std::string(equation)}}};
  };
  return {of("ij,jk->ik", {floats({3, 4}), floats({4, 5})}),
          of("ij,kj", {floats({3, 4}), floats({5, 4})}),
          of("ij,jk,kl->il", {floats({2, 3}), floats({3, 4}), floats({4, 5})}),
          of("bij,bkj->bik", {floats({2, 3, 4}), floats({2, 5, 4})}),
          of("...ij,jk->...ik", {floats({2, 3, 4, 2}), floats({2, 3})}),
          of("ii->i", {floats({4, 4})}),
          of("iij->", {floats({3, 3, 2})}),
          of("i,j->ji", {floats({3}), floats({4})}),
          of("ij,ij->i", {floats({3, 4}), floats({3, 4})}),
          of("bhqd,bkhd->bhqk", {floats({2, 3, 4, 5}), floats({2, 6, 3, 5})}),
          of("ij,ij->ij", {floats({3, 1}), floats({3, 4})}),
          of(",->", {floats({}), floats({})}),
          of("ij,jk->ik", {floats({0, 4}), floats({4, 5})}),
          of("ij,jk->ik", {floats({3, 7}, -1, 1, DType::kBF16),
                           floats({7, 5}, -1, 1, DType::kBF16)}),
          of("ij,jk->ki", {integers({3, 4}, -9, 9), integers({4, 5}, -9, 9)})};
}

void export_einsum(OnnxContext& c) {
  OnnxContext::Names operands;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    operands.push_back(c.x(i));
  }
  c.set(c.emit("Einsum", operands,
               {{"equation", c.attributes().text("equation")}}));
}

}  // namespace

void register_einsum(OpRegistry& ops) {
  ops.add("einsum")
      .summary("sums of products, by Einstein's notation of their axes")
      .signature("(xs...) -> y")
      .required("equation", std::string())
      .infer(infer_einsum)
      .lower(lower_einsum)
      .onnx(export_einsum)
      .cost(einsum_cost)
      .samples(einsum_samples);
}

Value einsum(const std::string& equation, std::span<const Value> operands,
             std::source_location where) {
  static const OpDef& op = op_registry().get("einsum");
  return std::move(
      call_all(op, operands, {{"equation", equation}}, where).front());
}

}  // namespace weft
