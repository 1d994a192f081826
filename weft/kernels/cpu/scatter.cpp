// Rows that tuples of indices name, read and changed.
//
// Updates of one row happen in their order. So threads share out not the
// updates but what they change: the columns of wide rows, else the rows.
#include <algorithm>
#include <array>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/indexing.h"
#include "weft/ops/support/nd_rows.h"

namespace weft {
namespace {

// Rows of as many elements or more are shared out by columns.
constexpr std::int64_t kWide = 128;

NdRows rows_of(const OpCall& call) {
  return {call.input(0).shape, call.input(1).shape,
          call.attributes.integer("batch_dims")};
}

// Where some rows lie is found first: reads of them then wait for no
// arithmetic, and many are under way at once.
template <class T, class I>
void copy_rows(const NdRows& nd, const T* x, const I* indices, T* y,
               std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kRows = 64;
  std::array<const T*, at(kRows)> from;
  for (; begin < end; begin += kRows) {
    const std::int64_t count = std::min(kRows, end - begin);
    for (std::int64_t i = 0; i < count; ++i) {
      from[at(i)] = x + nd.width * nd.row(begin + i, [&](std::int64_t n) {
        return indices[n];
      });
    }
    T* to = y + begin * nd.width;
    for (std::int64_t i = 0; i < count; ++i) {
      if (nd.width == 1) {
        to[i] = *from[at(i)];
      } else {
        std::copy_n(from[at(i)], nd.width, to + i * nd.width);
      }
    }
  }
}

std::unique_ptr<PreparedKernel> prepare_gather_nd(const OpCall& call) {
  const NdRows nd = rows_of(call);
  return for_width(call.input(0).dtype, [&]<class T>(T) {
    return for_indices(call.input(1).dtype, [&]<class I>(I) {
      return make_kernel([nd](const KernelBuffers& buffers) {
        const T* x = input_of<T>(buffers, 0);
        const I* indices = input_of<I>(buffers, 1);
        T* y = output_of<T>(buffers, 0);
        parallel_for(nd.tuples,
                     grain_of(nd.width * static_cast<std::int64_t>(sizeof(T))),
                     [&](std::int64_t begin, std::int64_t end) {
                       copy_rows(nd, x, indices, y, begin, end);
                     });
      });
    });
  });
}

// Calls change(to, from, count) for pieces of rows of y and of the updates for
// them, in parallel.
template <class T, class I, class Change>
void change_rows(const NdRows& nd, const I* indices, const T* updates, T* y,
                 Change&& change) {
  const auto row_at = [&](std::int64_t tuple) {
    return nd.row(tuple, [&](std::int64_t i) { return indices[i]; });
  };
  const std::int64_t row_bytes =
      nd.width * static_cast<std::int64_t>(sizeof(T));
  if (nd.width >= kWide) {
    const std::int64_t column_bytes =
        nd.tuples * static_cast<std::int64_t>(sizeof(T));
    parallel_for(nd.width, std::max(kWide / 4, grain_of(column_bytes)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = 0; i < nd.tuples; ++i) {
                     change(y + row_at(i) * nd.width + begin,
                            updates + i * nd.width + begin, end - begin);
                   }
                 });
    return;
  }
  // A thread looks at the indices of all batches that it has rows of, so that
  // there must be enough updates to make up for it.
  const std::int64_t pieces = nd.tuples / grain_of(row_bytes) + 1;
  parallel_for(nd.rows, nd.rows / pieces + 1,
               [&](std::int64_t begin, std::int64_t end) {
                 if (nd.tuples == 0 || begin == end) return;
                 const std::int64_t first =
                     begin / nd.rows_per_batch * nd.tuples_per_batch;
                 const std::int64_t last =
                     ((end - 1) / nd.rows_per_batch + 1) * nd.tuples_per_batch;
                 for (std::int64_t i = first; i < last; ++i) {
                   const std::int64_t row = row_at(i);
                   // Each row belongs to one thread, which meets its updates in
                   // their order: no lock is needed, and the bits do not depend
                   // on the threads.
                   if (row < begin || row >= end) continue;
                   change(y + row * nd.width, updates + i * nd.width, nd.width);
                 }
               });
}

template <class T, class Change>
std::unique_ptr<PreparedKernel> make_scatter(const OpCall& call,
                                             Change change) {
  const NdRows nd = rows_of(call);
  const WholeCopy whole(call.input(0));
  return for_indices(call.input(1).dtype, [&]<class I>(I) {
    return make_kernel([=](const KernelBuffers& buffers) {
      T* y = output_of<T>(buffers, 0);
      // In place this copies nothing.
      whole.run(buffers.inputs[0], y);
      change_rows(nd, input_of<I>(buffers, 1), input_of<T>(buffers, 2), y,
                  change);
    });
  });
}

// The same for each element by itself: step(own, update).
template <class Step>
std::unique_ptr<PreparedKernel> make_fold(const OpCall& call, Step step) {
  return for_summand(call.input(0).dtype, [&]<class T>(T) {
    return make_scatter<T>(call,
                           [step](T* to, const T* from, std::int64_t count) {
                             for (std::int64_t i = 0; i < count; ++i)
                               to[i] = step(to[i], from[i]);
                           });
  });
}

std::unique_ptr<PreparedKernel> prepare_scatter_nd(const OpCall& call) {
  const std::string& mode = call.attributes.text("mode");
  if (mode == "add") {
    return make_fold(call, [](auto own, auto update) { return own + update; });
  }
  // NaN wins on either side.
  if (mode == "max") {
    return make_fold(call, [](auto own, auto update) {
      return ((update > own) | (update != update)) ? update : own;
    });
  }
  if (mode == "min") {
    return make_fold(call, [](auto own, auto update) {
      return ((update < own) | (update != update)) ? update : own;
    });
  }
  return for_width(call.input(0).dtype, [&]<class T>(T) {
    return make_scatter<T>(call, [](T* to, const T* from, std::int64_t count) {
      std::copy_n(from, count, to);
    });
  });
}

std::optional<std::string> declines_scatter_nd(const OpCall& call) {
  // What is only moved needs no arithmetic.
  if (call.attributes.text("mode") == "set") return std::nullopt;
  return declines_sum(call);
}

}  // namespace

void register_cpu_scatter(KernelRegistry& kernels) {
  kernels.add({.op = "gather_nd",
               .name = "cpu:rows",
               .rank = 10,
               .prepare = prepare_gather_nd});
  kernels.add({.op = "scatter_nd",
               .name = "cpu:rows",
               .rank = 10,
               .declines = declines_scatter_nd,
               .prepare = prepare_scatter_nd,
               .in_place = true});
}

}  // namespace weft
