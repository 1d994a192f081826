#include "weft/ops/matmul.h"

#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/activation.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/doubles.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

// The product's extents, once transposition is undone.
struct Extents {
  Dim m, k, n;

  Extents(const OpCall& call)
      : Extents(call.input(0).shape, call.input(1).shape, call.attributes) {}
  // Inference calls this for matrices only; both have two axes at least.
  Extents(const Shape& a, const Shape& b, const Attributes& attributes) {
    const bool transpose_a = attributes.flag("transpose_a");
    const bool transpose_b = attributes.flag("transpose_b");
    m = a[a.rank() - (transpose_a ? 1 : 2)];
    k = a[a.rank() - (transpose_a ? 2 : 1)];
    n = b[b.rank() - (transpose_b ? 2 : 1)];
  }
};

Dim inner_of_b(const OpCall& call) {
  const Shape& b = call.input(1).shape;
  return b[b.rank() - (call.attributes.flag("transpose_b") ? 1 : 2)];
}

// The leading dims of both operands, broadcast.
Shape batch_shape(const OpCall& call) {
  const Shape& a = call.input(0).shape;
  const Shape& b = call.input(1).shape;
  const int rank = std::max(a.rank(), b.rank()) - 2;
  Shape batch;
  for (int axis = 0; axis < rank; ++axis) {
    const auto dim = [&](const Shape& shape) {
      // Where an operand has fewer leading axes, the missing ones count as 1.
      const int own = axis - (rank - (shape.rank() - 2));
      return own < 0 ? Dim{1} : shape[own];
    };
    const Dim left = dim(a);
    const Dim right = dim(b);
    if (left != right && left != 1 && right != 1) {
      throw call.error("leading dims {} and {} do not broadcast",
                       to_string(left), to_string(right));
    }
    batch.push_back(left == 1 ? right : left);
  }
  return batch;
}

std::vector<TensorType> infer_matmul(const OpCall& call) {
  const TensorType& a = call.input(0);
  const TensorType& b = call.input(1);
  require_floating(call);
  if (a.dtype != b.dtype) throw call.error("operands differ in dtype");
  if (a.shape.rank() < 2 || b.shape.rank() < 2) {
    throw call.error("operands must be matrices")
        .hint("reshape a vector to [1, k] or [k, 1]");
  }
  const Extents size(call);
  if (inner_of_b(call) != size.k) {
    throw call
        .error("inner dims do not match: a has {}, b has {}", to_string(size.k),
               to_string(inner_of_b(call)))
        .hint(
            "a is [..., m, k] and b is [..., k, n], each before its "
            "transposition");
  }
  check_tail(call, size.n);
  Shape shape = batch_shape(call);
  shape.push_back(size.m);
  shape.push_back(size.n);
  return {{a.dtype, shape}};
}

void matmul_reference(const OpCall& call, std::span<const TensorView> inputs,
                      std::span<const TensorView> outputs) {
  const Extents size(call);
  // Transposition is a matter of strides: one loop serves all four cases.
  const std::int64_t a_row = call.attributes.flag("transpose_a") ? 1 : size.k;
  const std::int64_t a_step = call.attributes.flag("transpose_a") ? size.m : 1;
  const std::int64_t b_row = call.attributes.flag("transpose_b") ? 1 : size.n;
  const std::int64_t b_step = call.attributes.flag("transpose_b") ? size.k : 1;
  const auto a = to_doubles(inputs[0]);
  const auto b = to_doubles(inputs[1]);
  const auto bias =
      inputs.size() > 2 ? to_doubles(inputs[2]) : std::vector<double>{};
  std::vector<double> y(static_cast<std::size_t>(outputs[0].size()));

  const Shape batch = batch_shape(call);
  const Shape& a_shape = inputs[0].shape();
  const Shape& b_shape = inputs[1].shape();
  const BroadcastIndex a_batch(Shape(a_shape.first(a_shape.rank() - 2)), batch);
  const BroadcastIndex b_batch(Shape(b_shape.first(b_shape.rank() - 2)), batch);
  std::size_t element = 0;
  for (std::int64_t i = 0; i < batch.num_elements(); ++i) {
    // A dim that is broadcast has stride 0, so a matrix that many share stays
    // at its place.
    const double* left = a.data() + a_batch(i) * size.m * size.k;
    const double* right = b.data() + b_batch(i) * size.k * size.n;
    for (std::int64_t row = 0; row < size.m; ++row) {
      for (std::int64_t column = 0; column < size.n; ++column) {
        // Products are summed in double: what kernels are compared with must be
        // more exact than they are.
        double sum = 0;
        for (std::int64_t k = 0; k < size.k; ++k) {
          sum += left[row * a_row + k * a_step] *
                 right[k * b_row + column * b_step];
        }
        y[element++] = sum;
      }
    }
  }
  apply_tail(call, bias, y);
  from_doubles(y, outputs[0]);
}

// [..., k] as a matrix, so that a batch of rows against one matrix is one
// product instead of many.
Value as_matrix(const Value& x) {
  const Shape& shape = x.shape();
  if (shape.rank() == 2) return x;
  return reshape(x, {dim_product(shape.first(shape.rank() - 1)), shape.back()});
}

// With A = op(a) and B = op(b): dA = dy Bᵀ and dB = Aᵀ dy, each stored the
// way its operand is.
Gradients matmul_gradient(const GradientContext& g) {
  const bool ta = g.attributes().flag("transpose_a");
  const bool tb = g.attributes().flag("transpose_b");
  const Value dy = tail_gradient(g);
  const Value& a = g.x(0);
  const Value& b = g.x(1);
  // An operand that is stored as Aᵀ has the gradient (dy Bᵀ)ᵀ = B dyᵀ: flags
  // say so, and no transposition is computed.
  const Value da = ta ? matmul(b, dy, {tb, true}) : matmul(dy, b, {false, !tb});
  // One matrix against a stack: its gradient is a sum over the stack, which a
  // product over all rows takes by itself. (Where a is stored transposed, its
  // rows do not lie behind each other.)
  const bool is_flat = b.shape().rank() == 2 && !ta;
  const Value rows = is_flat ? as_matrix(a) : a;
  const Value dy_rows = is_flat ? as_matrix(dy) : dy;
  // The same rule gives Bᵀ the gradient (Aᵀ dy)ᵀ = dyᵀ A.
  const Value db = tb ? matmul(dy_rows, rows, {true, ta})
                      : matmul(rows, dy_rows, {!ta, false});
  // Leading dims that were broadcast are summed over.
  Gradients gradients = {sum_to(da, a.shape()), sum_to(db, b.shape())};
  add_bias_gradient(g, dy, gradients);
  return gradients;
}

// [..., p, q] as [..., q, p]: a view where one of them is 1.
Value with_last_axes_swapped(const Value& x) {
  const int rank = x.shape().rank();
  Shape shape = x.shape();
  std::swap(shape[rank - 2], shape[rank - 1]);
  if (shape[rank - 2] == 1 || shape[rank - 1] == 1) return reshape(x, shape);
  Integers order;
  for (int axis = 0; axis < rank; ++axis) order.push_back(axis);
  std::swap(order[order.size() - 2], order.back());
  return transpose(x, order);
}

// One matrix for all instances is one product with the rows of all of them:
// that is what a matrix against leading dims of `a` is. A shared `a` against
// columns (n = 1) is the same, transposed; otherwise there is a product for
// each instance.
Value batch_product(const BatchContext& g) {
  const auto rank = [&](std::size_t i) {
    return g.call().input(i).shape.rank();
  };
  const bool is_plain = rank(0) == 2 && rank(1) == 2;
  bool transpose_a = g.attributes().flag("transpose_a");
  const bool transpose_b = g.attributes().flag("transpose_b");
  const Extents size(g.call());
  if (is_plain && size.n == 1 && g.is_batched(1) && !g.is_batched(0)) {
    // The columns are taken for rows: yᵀ = xᵀ aᵀ, with all x in one matrix.
    const Value rows = reshape(g.x(1), {g.size(), size.k});
    const Value y = matmul(rows, g.x(0), {false, !transpose_a});
    return reshape(y, with_leading(g.size(), g.call().outputs[0].shape));
  }
  // Leading dims line up at the last axis, so ones go between the batch and
  // them.
  Value a = aligned(g, 0, std::max(rank(0), rank(1)));
  const Value b = aligned(g, 1, std::max(rank(0), rank(1)));
  // Rows that lie one behind the other make one product with the shared matrix,
  // which pays for moving them.
  if (transpose_a && !g.is_batched(1) && rank(1) == 2) {
    a = with_last_axes_swapped(a);
    transpose_a = false;
  }
  return matmul(a, b, {transpose_a, transpose_b});
}

std::vector<Value> batch(const BatchContext& g) {
  // The bias and the activation come apart from the product, as each instance
  // may have a bias of its own.
  Value y = batch_product(g);
  if (g.call().has_input(2)) {
    const int rank = g.call().outputs[0].shape.rank();
    y = y + cast(aligned(g, 2, rank), y.dtype());
  }
  if (g.attributes().text("activation") == "relu") y = relu(y);
  return {y};
}

// Σ Aᵀ B over instances is one product: its inner dim runs over the rows of all
// of them. With k as the columns of A, Σ A_b B_b = [A_1 A_2 …] [B_1; B_2; …].
std::vector<Value> sum_of_products(const BatchContext& g) {
  // Neither a relu nor a bias per instance passes through the sum.
  if (has_tail(g.call())) return {};
  if (!g.is_batched(0) || !g.is_batched(1)) return sum_of_multilinear(g);
  if (g.call().input(0).shape.rank() != 2 ||
      g.call().input(1).shape.rank() != 2) {
    // Flattening would sum over the operands' own leading dims as well.
    return {};
  }
  const Value a = g.attributes().flag("transpose_a")
                      ? g.x(0)
                      : with_last_axes_swapped(g.x(0));
  const Value b = g.attributes().flag("transpose_b")
                      ? with_last_axes_swapped(g.x(1))
                      : g.x(1);
  const Value rows_of_a = as_matrix(a);
  return {matmul(rows_of_a, as_matrix(b), {true, false})};
}

Cost matmul_cost(const OpCall& call) {
  return Cost::of(
      call, 2.0 * static_cast<double>(Extents(call).k) *
                static_cast<double>(call.outputs[0].shape.num_elements()));
}

std::vector<OpSample> matmul_samples() {
  const auto f32 = [](Shape shape) {
    return InputSample{{DType::kF32, shape}};
  };
  const auto bf16 = [](Shape shape) {
    return InputSample{{DType::kBF16, shape}};
  };
  return {
      {{f32({3, 5}), f32({5, 4})}, {}},
      {{f32({5, 3}), f32({5, 4})}, {{"transpose_a", true}}},
      {{f32({3, 5}), f32({4, 5})}, {{"transpose_b", true}}},
      {{f32({5, 3}), f32({4, 5})},
       {{"transpose_a", true}, {"transpose_b", true}}},
      {{f32({2, 3, 5}), f32({5, 4})}, {}},
      {{f32({2, 1, 3, 5}), f32({3, 5, 4})}, {}},
      {{f32({3, 5}), f32({2, 4, 5})}, {{"transpose_b", true}}},
      {{f32({3, 5}), f32({5, 4}), f32({4})}, {}},
      {{f32({3, 5}), f32({5, 4}), f32({4})},
       {{"activation", std::string("relu")}}},
      {{f32({1, 7}), f32({7, 1})}, {}},
      {{f32({3, 0}), f32({0, 2})}, {}},
      {{f32({0, 3}), f32({3, 2})}, {}},
      {{bf16({3, 8}), bf16({8, 4})}, {}},
      {{bf16({3, 8}), bf16({8, 4}), f32({4})}, {}},
  };
}

}  // namespace

void register_matmul(OpRegistry& ops) {
  ops.add("matmul")
      .summary("the product of matrices, leading dims broadcast")
      .signature("(a, b, bias?) -> y")
      .attribute("transpose_a", false)
      .attribute("transpose_b", false)
      .attribute("activation", std::string("none"))
      .infer(infer_matmul)
      .reference(matmul_reference)
      .gradient(matmul_gradient)
      .batch(batch, sum_of_products)
      .cost(matmul_cost)
      .samples(matmul_samples);
}

Value matmul(const Operand& a, const Operand& b, MatmulOptions options) {
  static const OpDef& op = op_registry().get("matmul");
  return call(op, {a.value, b.value},
              {{"transpose_a", options.transpose_a},
               {"transpose_b", options.transpose_b}},
              a.location);
}

}  // namespace weft
