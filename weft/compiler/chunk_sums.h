// Sums and moments of a batch from those of its chunks, one after the other.
// Mean and variance are merged by the formula of Chan, Golub and LeVeque
// ("Updating formulae and a pairwise algorithm for computing sample variances",
// 1979), in f64, which does not cancel.
//
// Threads: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>

namespace weft {

// Adds what a chunk has summed, `size` numbers, to those before.
template <class T>
void add_partial(const void* partial, void* total, std::size_t size,
                 bool is_first) {
  const T* from = static_cast<const T*>(partial);
  T* to = static_cast<T*>(total);
  if (is_first) {
    std::copy(from, from + size, to);
    return;
  }
  for (std::size_t i = 0; i < size; ++i) to[i] += from[i];
}

// A mean, and the sum of squares about it.
struct ChunkMoment {
  double mean, squares;
};

// The moments of `before` rows and of `rows` others, together.
inline ChunkMoment merged(ChunkMoment kept, double before, ChunkMoment other,
                          double rows) {
  const double all = before + rows;
  const double distance = other.mean - kept.mean;
  return {kept.mean + distance * (rows / all),
          kept.squares + other.squares +
              distance * distance * (before * rows / all)};
}

// Merges the moments of `rows` rows into those of `before`: `size` means, with
// as many sums of squares behind them.
template <class T>
void merge_partial(const void* mean, const void* variance, double* kept,
                   std::size_t size, double before, double rows) {
  const T* means = static_cast<const T*>(mean);
  const T* variances = static_cast<const T*>(variance);
  double* squares = kept + size;
  for (std::size_t i = 0; i < size; ++i) {
    const ChunkMoment one{static_cast<double>(means[i]),
                          static_cast<double>(variances[i]) * rows};
    const ChunkMoment so_far =
        before == 0 ? ChunkMoment{} : ChunkMoment{kept[i], squares[i]};
    const auto [now, about_it] = merged(so_far, before, one, rows);
    kept[i] = now;
    squares[i] = about_it;
  }
}

// The mean and the variance of all `rows` rows.
template <class T>
void store_moments(const double* kept, void* mean, void* variance,
                   std::size_t size, double rows) {
  for (std::size_t i = 0; i < size; ++i) {
    static_cast<T*>(mean)[i] = static_cast<T>(kept[i]);
    static_cast<T*>(variance)[i] = static_cast<T>(kept[size + i] / rows);
  }
}

}  // namespace weft
