// Random ops: the same numbers as the references, many blocks at a time.
#include <algorithm>
#include <bit>

#include "weft/base/parallel.h"
#include "weft/base/permutation.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/simd/normals.h"
#include "weft/kernels/simd/philox_blocks.h"
#include "weft/ops/support/random_bits.h"

namespace weft {
namespace {

// A thread is worth its start from about so many groups on.
constexpr std::int64_t kGroupsPerThread = 256;

// How many keys a call draws by, and how many words each of them gives it.
struct Draws {
  std::int64_t keys;
  std::int64_t words;
};

Draws draws_of(const OpCall& call, std::int64_t words_per_element = 1) {
  const std::int64_t keys = call.input(0).shape.num_elements() / 2;
  const std::int64_t elements = call.outputs[0].shape.num_elements();
  return {keys, keys == 0 ? 0 : elements / keys * words_per_element};
}

// Calls body(words, begin, end) for groups of words [begin, end) that start at
// words[0]; those of a key follow those of the keys before it.
template <class Body>
void for_each_group(const Attributes& attributes, const std::int64_t* keys,
                    Draws draws, Body&& body) {
  const std::int64_t groups = (draws.words + kPhiloxWords - 1) / kPhiloxWords;
  // An attribute is found by its name, which takes as long as a group.
  const auto number = static_cast<std::uint32_t>(attributes.integer("stream"));
  parallel_for(
      draws.keys * groups, kGroupsPerThread,
      [&](std::int64_t first, std::int64_t last) {
        std::uint32_t words[kPhiloxWords];
        for (std::int64_t i = first; i < last; ++i) {
          const std::int64_t key = i / groups;
          const std::int64_t group = i % groups;
          // Words follow from key and place alone, so groups may be drawn on
          // any thread.
          philox_blocks(random_stream(number, keys + 2 * key),
                        static_cast<std::uint64_t>(group) * kPhiloxBlocks,
                        words);
          const std::int64_t begin = group * kPhiloxWords;
          const std::int64_t end = std::min(draws.words, begin + kPhiloxWords);
          body(words, key * draws.words + begin, key * draws.words + end);
        }
      });
}

// Kernels of (keys) -> y that turn words into elements group by group.
// `Element` is T(const words, index within the group).
template <class T, class Element>
std::unique_ptr<PreparedKernel> make_drawer(const OpCall& call,
                                            Element element) {
  const Attributes attributes = call.attributes;
  const Draws draws = draws_of(call);
  return make_kernel([=](const KernelBuffers& buffers) {
    T* y = output_of<T>(buffers, 0);
    for_each_group(
        attributes, input_of<std::int64_t>(buffers, 0), draws,
        [&](const std::uint32_t* words, std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = 0; i < end - begin; ++i) {
            y[begin + i] = element(words, i);
          }
        });
  });
}

template <class Body>
std::unique_ptr<PreparedKernel> for_floating(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kF64:
      return body(double{});
    case DType::kBF16:
      return body(bfloat16{});
    case DType::kF16:
      return body(float16{});
    default:
      return body(float{});
  }
}

std::unique_ptr<PreparedKernel> prepare_uniform(const OpCall& call) {
  return for_floating(call.outputs[0].dtype, [&]<class T>(T) {
    return make_drawer<T>(call, [](const std::uint32_t* words, std::int64_t i) {
      return uniform_element<T>(words[i]);
    });
  });
}

std::unique_ptr<PreparedKernel> prepare_normal(const OpCall& call) {
  const Attributes attributes = call.attributes;
  const Draws draws = draws_of(call);
  return for_floating(call.outputs[0].dtype, [&]<class T>(T) {
    return make_kernel([=](const KernelBuffers& buffers) {
      T* y = output_of<T>(buffers, 0);
      for_each_group(attributes, input_of<std::int64_t>(buffers, 0), draws,
                     [&](const std::uint32_t* words, std::int64_t begin,
                         std::int64_t end) {
                       // A whole group is drawn even where the size ends within
                       // it.
                       float drawn[kPhiloxWords];
                       normals(words, drawn, kPhiloxWords);
                       std::transform(
                           drawn, drawn + (end - begin), y + begin,
                           [](float x) { return static_cast<T>(x); });
                     });
    });
  });
}

std::unique_ptr<PreparedKernel> prepare_bernoulli(const OpCall& call) {
  // Each element is then one comparison of integers: 24 bits of a word with
  // this.
  const std::uint32_t threshold =
      bernoulli_threshold(call.attributes.real("probability"));
  return make_drawer<bool>(
      call, [threshold](const std::uint32_t* words, std::int64_t i) {
        return bernoulli_element(words[i], threshold);
      });
}

std::unique_ptr<PreparedKernel> prepare_gumbel(const OpCall& call) {
  return for_floating(call.outputs[0].dtype, [&]<class T>(T) {
    return make_drawer<T>(call, [](const std::uint32_t* words, std::int64_t i) {
      // The reference draws in f64 and rounds once; so does this, to the same
      // bits.
      const double drawn = gumbel_element(words[i]);
      if constexpr (std::is_class_v<T>)
        return T(static_cast<float>(drawn));
      else
        return static_cast<T>(drawn);
    });
  });
}

// There are two words for each element.
template <class T>
std::unique_ptr<PreparedKernel> make_randint(const OpCall& call) {
  const Attributes attributes = call.attributes;
  const std::uint64_t count = randint_count(attributes);
  const auto low = static_cast<std::uint64_t>(attributes.integer("low"));
  const Draws draws = draws_of(call, 2);
  return make_kernel([=](const KernelBuffers& buffers) {
    T* y = output_of<T>(buffers, 0);
    for_each_group(
        attributes, input_of<std::int64_t>(buffers, 0), draws,
        [&](const std::uint32_t* words, std::int64_t begin, std::int64_t end) {
          // A group has an even number of words, so that no element is parted.
          for (std::int64_t i = 0; i < end - begin; i += 2) {
            const std::uint64_t drawn =
                randint_element(words[i], words[i + 1], count);
            y[(begin + i) / 2] = static_cast<T>(low + drawn);
          }
        });
  });
}

std::unique_ptr<PreparedKernel> prepare_randint(const OpCall& call) {
  if (call.outputs[0].dtype == DType::kI32)
    return make_randint<std::int32_t>(call);
  return make_randint<std::int64_t>(call);
}

std::unique_ptr<PreparedKernel> prepare_permutation(const OpCall& call) {
  const Attributes attributes = call.attributes;
  const Draws draws = draws_of(call);
  const auto size = static_cast<std::uint64_t>(draws.words);
  const std::size_t words = size == 0 ? 0 : Permutation::table_words(size);
  return make_kernel(
      [=](const KernelBuffers& buffers) {
        if (size == 0) return;
        const std::span table(static_cast<std::uint32_t*>(buffers.scratch),
                              words);
        for (std::int64_t key = 0; key < draws.keys; ++key) {
          const RandomStream stream = random_stream(
              attributes, input_of<std::int64_t>(buffers, 0) + 2 * key);
          const Permutation order(size, stream.seed, stream.stream,
                                  stream.step);
          order.tabulate(table);
          auto* y = output_of<std::int64_t>(buffers, 0) + key * draws.words;
          // An element of the permutation is a function of its place, so
          // threads need no shuffled array.
          parallel_for(
              draws.words, 1024, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) {
                  y[i] = static_cast<std::int64_t>(
                      order.by_table(static_cast<std::uint64_t>(i), table));
                }
              });
        }
      },
      words * sizeof(std::uint32_t));
}

std::optional<std::string> declines_dropout(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (dtype == DType::kF32 || dtype == DType::kBF16) return std::nullopt;
  return "no vectors of " + std::string(to_string(dtype));
}

// y may lie over x. Whether an element is kept is not to be guessed: what is
// not loses its bits, without a branch.
template <class T>
void drop(const std::uint32_t* words, std::uint32_t threshold, float scale,
          const T* x, T* y, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits =
        std::bit_cast<std::uint32_t>(static_cast<float>(x[i]) * scale);
    const auto kept = std::uint32_t{bernoulli_element(words[i], threshold)};
    y[i] = static_cast<T>(std::bit_cast<float>(bits & (0 - kept)));
  }
}

std::unique_ptr<PreparedKernel> prepare_dropout(const OpCall& call) {
  const Attributes attributes = call.attributes;
  const double kept = 1 - attributes.real("rate");
  const std::uint32_t threshold = bernoulli_threshold(kept);
  // What is kept is scaled up, so that the mean stays and inference needs no
  // scaling.
  const auto scale = static_cast<float>(1 / kept);
  const std::int64_t size = call.outputs[0].shape.num_elements();
  return for_floating(call.input(0).dtype, [&]<class T>(T) {
    return make_kernel([=](const KernelBuffers& buffers) {
      const T* x = input_of<T>(buffers, 0);
      T* y = output_of<T>(buffers, 0);
      for_each_group(attributes, input_of<std::int64_t>(buffers, 1), {1, size},
                     [&](const std::uint32_t* words, std::int64_t begin,
                         std::int64_t end) {
                       drop(words, threshold, scale, x + begin, y + begin,
                            end - begin);
                     });
    });
  });
}

}  // namespace

void register_cpu_random(KernelRegistry& kernels) {
  kernels.add({"uniform", "cpu:philox", 10, nullptr, prepare_uniform});
  kernels.add({"normal", "cpu:philox", 10, nullptr, prepare_normal});
  kernels.add({"bernoulli", "cpu:philox", 10, nullptr, prepare_bernoulli});
  kernels.add({"gumbel", "cpu:philox", 10, nullptr, prepare_gumbel});
  kernels.add({"randint", "cpu:philox", 10, nullptr, prepare_randint});
  kernels.add({"permutation", "cpu:philox", 10, nullptr, prepare_permutation});
  kernels.add(
      {"dropout", "cpu:philox", 10, declines_dropout, prepare_dropout, true});
}

}  // namespace weft
