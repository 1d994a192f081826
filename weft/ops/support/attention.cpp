#include "weft/ops/support/attention.h"

#include "weft/base/index.h"
#include "weft/ops/support/doubles.h"

namespace weft {
namespace {

// scale query keyᵀ of one stack, -infinity where a query does not look.
std::vector<double> reference_scores(const AttentionSizes& size,
                                     std::int64_t stack,
                                     const std::vector<double>& query,
                                     const std::vector<double>& key,
                                     const bool* mask) {
  // A mask may be shared by stacks, or be one for each.
  if (mask != nullptr) mask += size.mask_begin(stack);
  std::vector<double> scores;
  for (Dim i = 0; i < size.queries; ++i) {
    const double* q = query.data() + (stack * size.queries + i) * size.width;
    for (Dim j = 0; j < size.keys; ++j) {
      const double* k = key.data() + (stack * size.keys + j) * size.width;
      double score = 0;
      for (Dim w = 0; w < size.width; ++w) score += q[w] * k[w] * size.scale;
      const bool looks = (!size.causal || j <= i) &&
                         (mask == nullptr || mask[size.mask_at(i, j)]);
      scores.push_back(looks ? score : kHiddenScore);
    }
  }
  return scores;
}

const bool* mask_of(std::span<const TensorView> inputs, std::size_t index) {
  return inputs.size() > index ? inputs[index].as<bool>() : nullptr;
}

}  // namespace

// Keys that are not looked at weigh 0. That is a product like others: NaN in
// their values shows, unless a kernel leaves out their block.
void attention_reference(const OpCall& call, std::span<const TensorView> inputs,
                         std::span<const TensorView> outputs) {
  const AttentionSizes size(call, kMaskOfAttention);
  const auto query = to_doubles(inputs[0]);
  const auto key = to_doubles(inputs[1]);
  const auto value = to_doubles(inputs[2]);
  std::vector<double> y(static_cast<std::size_t>(outputs[0].size()));
  std::vector<double> lse;
  for (std::int64_t stack = 0; stack < size.stacks; ++stack) {
    const auto scores = reference_scores(size, stack, query, key,
                                         mask_of(inputs, kMaskOfAttention));
    for (Dim i = 0; i < size.queries; ++i) {
      const double* score = scores.data() + i * size.keys;
      double most = kHiddenScore;
      for (Dim j = 0; j < size.keys; ++j) {
        if (score[j] > most) most = score[j];
      }
      // All keys are hidden. -∞ - -∞ would be NaN; so each weighs exp(-∞) = 0.
      if (most == kHiddenScore) most = 0;
      double sum = 0;
      for (Dim j = 0; j < size.keys; ++j) sum += std::exp(score[j] - most);
      lse.push_back(sum == 0 ? 0 : most + std::log(sum));
      // The weights are all 0, and so is the result, instead of 0 / 0.
      if (sum == 0) sum = 1;
      double* to = y.data() + (stack * size.queries + i) * size.value_width;
      for (Dim j = 0; j < size.keys; ++j) {
        const double weight = std::exp(score[j] - most) / sum;
        const double* v =
            value.data() + (stack * size.keys + j) * size.value_width;
        for (Dim w = 0; w < size.value_width; ++w) to[w] += weight * v[w];
      }
    }
  }
  from_doubles(y, outputs[0]);
  from_doubles(lse, outputs[1]);
}

// Equations of Dao et al. 2022, B.2: dv = pᵀ dy, dp = dy vᵀ,
// ds = p (dp - Σ dy y), dq = ds k, dk = dsᵀ q.
void attention_gradient_reference(const OpCall& call,
                                  std::span<const TensorView> inputs,
                                  std::span<const TensorView> outputs) {
  const AttentionSizes size(call, kMaskOfGradient);
  const auto query = to_doubles(inputs[0]);
  const auto key = to_doubles(inputs[1]);
  const auto value = to_doubles(inputs[2]);
  const auto y = to_doubles(inputs[3]);
  const auto lse = to_doubles(inputs[4]);
  const auto dy = to_doubles(inputs[5]);
  std::vector<double> dq(query.size()), dk(key.size()), dv(value.size());
  for (std::int64_t stack = 0; stack < size.stacks; ++stack) {
    const auto scores = reference_scores(size, stack, query, key,
                                         mask_of(inputs, kMaskOfGradient));
    for (Dim i = 0; i < size.queries; ++i) {
      const Dim row = stack * size.queries + i;
      const double* flow = dy.data() + row * size.value_width;
      // This is the sum of the weights' gradients, each times its weight (Σ p
      // dp), by way of y.
      double common = 0;
      for (Dim w = 0; w < size.value_width; ++w) {
        common += flow[w] * y[at(row * size.value_width + w)];
      }
      for (Dim j = 0; j < size.keys; ++j) {
        const Dim column = stack * size.keys + j;
        // lse holds the largest score and the sum, so that the weights come
        // back without either.
        const double p = std::exp(scores[at(i * size.keys + j)] - lse[at(row)]);
        double dp = 0;
        for (Dim w = 0; w < size.value_width; ++w) {
          dp += flow[w] * value[at(column * size.value_width + w)];
          dv[at(column * size.value_width + w)] += p * flow[w];
        }
        const double ds = p * (dp - common) * size.scale;
        for (Dim w = 0; w < size.width; ++w) {
          dq[at(row * size.width + w)] += ds * key[at(column * size.width + w)];
          dk[at(column * size.width + w)] +=
              ds * query[at(row * size.width + w)];
        }
      }
    }
  }
  from_doubles(dq, outputs[0]);
  from_doubles(dk, outputs[1]);
  from_doubles(dv, outputs[2]);
}

}  // namespace weft
