// How a loop kernel adds up its outputs that are sums: what its chunks are cut
// from, where they add, and what becomes of their partial sums.
#include <algorithm>
#include <cstring>

#include "weft/kernels/loop/loop_kernel.h"
#include "weft/kernels/loop/tile_places.h"

namespace weft {
namespace {

// Enough chunks to balance any machine, few enough to fold quickly.
constexpr std::int64_t kMostChunks = 64;
constexpr std::int64_t kLeastTilesPerChunk = 16;
// What clearing, folding and adding up partial sums costs is kept to this part
// of the loop.
constexpr std::int64_t kElementsPerPartial = 4;

// The sum of a whole loop, in the type that the loop added up in.
void scale(void* sums, DType dtype, std::int64_t size, double factor) {
  dispatch(dtype, [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      auto* numbers = static_cast<T*>(sums);
      for (std::int64_t i = 0; i < size; ++i) {
        numbers[i] *= static_cast<T>(factor);
      }
    }
  });
}

}  // namespace

// The loop repeats the longest of the sums that outgrow a tile. Chunks are
// first cut through its columns, so that each owns the places that it adds to;
// where columns are few, through the repetitions as well. Of all other sums
// each chunk has its own.
void LoopKernel::cut_for_sums() {
  std::int64_t longest = 0;
  for (std::size_t j = 0; j < program_.outputs.size(); ++j) {
    if (!program_.outputs[j].is_sum) continue;
    Sum sum;
    sum.output = j;
    sum.period = program_.outputs[j].type.shape.num_elements();
    if (sum.period > most_) longest = std::max(longest, sum.period);
    sums_.push_back(sum);
  }
  std::int64_t chunks =
      std::clamp<std::int64_t>(tiles_ / kLeastTilesPerChunk, 1, kMostChunks);
  for (Sum& sum : sums_) {
    sum.is_owned = sum.period == longest;
    if (sum.is_owned || sum.period <= most_) continue;
    chunks = std::clamp<std::int64_t>(
        size_ / (kElementsPerPartial * sum.period), 1, chunks);
  }
  if (longest > 0) repeats_ = std::max<std::int64_t>(1, size_ / longest);
  column_chunks_ = std::clamp<std::int64_t>(tiles_ / repeats_, 1, chunks);
  repeat_chunks_ =
      std::clamp<std::int64_t>(chunks / column_chunks_, 1, repeats_);
}

void LoopKernel::place_accumulators() {
  for (Sum& sum : sums_) {
    if (sum.is_owned) continue;
    // An accumulator has room for a whole tile, which is then added to it
    // without a look at where periods end.
    sum.width = std::max(sum.period, tile_);
    sum.accumulator_offset = worker_numbers_;
    worker_numbers_ += static_cast<std::size_t>(whole_vectors(sum.width));
  }
}

// The partial sums stand behind the workers' parts.
void LoopKernel::place_partials() {
  std::size_t numbers = worker_numbers_ * static_cast<std::size_t>(workers_);
  for (Sum& sum : sums_) {
    sum.partial_offset = numbers;
    numbers += static_cast<std::size_t>(partials(sum) * sum.period);
  }
  scratch_bytes_ = numbers * size_of(own_);
}

std::int64_t LoopKernel::partials(const Sum& sum) const {
  return sum.is_owned ? repeat_chunks_ : chunks();
}

std::byte* LoopKernel::partial_of(const Sum& sum, const KernelBuffers& buffers,
                                  std::int64_t number) const noexcept {
  return element(
      buffers.scratch, own_,
      static_cast<std::int64_t>(sum.partial_offset) + number * sum.period);
}

// An accumulator holds whole tiles; elements that are a period apart belong
// to the same sum.
void LoopKernel::fold(const Sum& sum, void* accumulator,
                      void* partial) const noexcept {
  std::memcpy(partial, accumulator, bytes_of(sum.period));
  for (std::int64_t i = sum.period; i < sum.width; i += sum.period) {
    accumulate_tile(element(accumulator, own_, i), partial,
                    std::min(sum.period, sum.width - i), program_.type);
  }
}

// Numbers [begin, end) of a sum, of all its partial sums in order, so that any
// number of threads gives the same bits.
void LoopKernel::finish(const Sum& sum, const KernelBuffers& buffers,
                        std::int64_t begin, std::int64_t end) const noexcept {
  const auto& output = program_.outputs[sum.output];
  const std::int64_t size = end - begin;
  std::byte* total = element(partial_of(sum, buffers, 0), own_, begin);
  for (std::int64_t number = 1; number < partials(sum); ++number) {
    accumulate_tile(element(partial_of(sum, buffers, number), own_, begin),
                    total, size, program_.type);
  }
  // The factor of a mean is multiplied in the wider type, before the sum is
  // rounded to its dtype.
  scale(total, own_, size, output.scale);
  store_tile(output.type.dtype, total,
             element(buffers.outputs[sum.output], output.type.dtype, begin),
             size, program_.type);
}

void LoopKernel::finish_sums(const KernelBuffers& buffers) const noexcept {
  for (const Sum& sum : sums_) {
    if (size_ == 0) {
      // No chunk has run, and the sum of nothing is zero.
      std::memset(partial_of(sum, buffers, 0), 0,
                  bytes_of(partials(sum) * sum.period));
    } else if (is_finished_by_chunks(sum)) {
      continue;
    }
    finish(sum, buffers, 0, sum.period);
  }
}

}  // namespace weft
