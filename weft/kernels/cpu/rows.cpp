// Ops on some rows of a table. Threads share out the columns, so that each sum
// happens in the order of the indices.
#include <bit>
#include <cstring>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/indexing.h"

namespace weft {
namespace {

struct Rows {
  std::int64_t count;
  std::int64_t width;

  Rows(const TensorType& rows, const TensorType& indices)
      : count(indices.shape.num_elements()),
        width(count == 0 ? 0 : rows.shape.num_elements() / count) {}

  // Columns that are worth a thread: whole cache lines of each row.
  std::int64_t grain(std::size_t element) const {
    constexpr std::int64_t kLeast = 32;
    return std::max(kLeast,
                    grain_of(count * static_cast<std::int64_t>(element)));
  }
};

std::unique_ptr<PreparedKernel> prepare_add_rows(const OpCall& call) {
  const Rows rows(call.input(1), call.input(2));
  const std::int64_t size = call.input(0).shape[0];
  const std::size_t bytes = call.input(0).bytes();
  return for_summand(call.input(0).dtype, [&]<class T>(T) {
    return for_indices(call.input(2).dtype, [&]<class I>(I) {
      return make_kernel([=](const KernelBuffers& buffers) {
        const T* x = input_of<T>(buffers, 0);
        const T* updates = input_of<T>(buffers, 1);
        const I* indices = input_of<I>(buffers, 2);
        T* y = output_of<T>(buffers, 0);
        // In place, only the rows that change are touched.
        if (y != x && bytes > 0) std::memcpy(y, x, bytes);
        parallel_for(rows.width, rows.grain(sizeof(T)),
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t i = 0; i < rows.count; ++i) {
                         const T* from = updates + i * rows.width;
                         T* to = y + row_of(indices[i], size) * rows.width;
                         for (std::int64_t n = begin; n < end; ++n) {
                           to[n] += from[n];
                         }
                       }
                     });
      });
    });
  });
}

// Finds the first of equal rows: a table of positions by open addressing, at
// most half full.
class FirstOfRows {
 public:
  // The number of slots is a power of two, so that a mask keeps a slot in
  // range.
  explicit FirstOfRows(std::int64_t count)
      : count_(count),
        bits_(static_cast<int>(
            std::bit_width(static_cast<std::uint64_t>(2 * count)))) {}

  std::size_t bytes() const {
    return at(count_ + slots()) * sizeof(std::int64_t);
  }

  // Gives for each position the first that has its row; lies in `memory`, of
  // bytes().
  template <class RowAt>
  const std::int64_t* find(void* memory, RowAt&& row_at) const {
    auto* firsts = static_cast<std::int64_t*>(memory);
    std::int64_t* table = firsts + count_;
    std::fill(table, table + slots(), kEmpty);
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::int64_t row = row_at(i);
      std::int64_t slot = hash(row);
      while (table[slot] != kEmpty && row_at(table[slot]) != row) {
        // The table is at most half full, so a free slot is near.
        slot = (slot + 1) & (slots() - 1);
      }
      if (table[slot] == kEmpty) table[slot] = i;
      firsts[i] = table[slot];
    }
    return firsts;
  }

 private:
  static constexpr std::int64_t kEmpty = -1;

  std::int64_t slots() const { return std::int64_t{1} << bits_; }
  // Multiplicative hashing by the golden ratio (Knuth, volume 3, 6.4).
  std::int64_t hash(std::int64_t row) const {
    // The upper bits are taken, on which all bits of the row have an effect.
    return static_cast<std::int64_t>(
        (static_cast<std::uint64_t>(row) * 0x9E3779B97F4A7C15u) >>
        (64 - bits_));
  }

  std::int64_t count_;
  int bits_;  // at least 1, where there is a row
};

std::unique_ptr<PreparedKernel> prepare_coalesce_rows(const OpCall& call) {
  const Rows rows(call.input(0), call.input(1));
  const std::int64_t size = call.attributes.get<Shape>("size")[0];
  const FirstOfRows first_of(rows.count);
  return for_summand(call.input(0).dtype, [&]<class T>(T) {
    return for_indices(call.input(1).dtype, [&]<class I>(I) {
      const auto run = [=](const KernelBuffers& buffers) {
        const T* updates = input_of<T>(buffers, 0);
        const I* indices = input_of<I>(buffers, 1);
        T* sums = output_of<T>(buffers, 0);
        // One thread finds the first of each row, in one pass of short steps;
        // the sums are what is shared out.
        const std::int64_t* firsts = first_of.find(
            buffers.scratch,
            [&](std::int64_t i) { return row_of(indices[i], size); });
        // A row is read before it is cleared: sums may lie over updates.
        parallel_for(rows.width, rows.grain(sizeof(T)),
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t i = 0; i < rows.count; ++i) {
                         const T* from = updates + i * rows.width;
                         T* own = sums + i * rows.width;
                         T* to = sums + firsts[i] * rows.width;
                         if (own == to) {
                           if (own == from) continue;
                           std::copy(from + begin, from + end, own + begin);
                           continue;
                         }
                         for (std::int64_t n = begin; n < end; ++n) {
                           to[n] += from[n];
                         }
                         // A row that has been added to its first has no update
                         // left: the op's result says so by zeros.
                         std::fill(own + begin, own + end, T{0});
                       }
                     });
      };
      return make_kernel(run, first_of.bytes());
    });
  });
}

}  // namespace

void register_cpu_rows(KernelRegistry& kernels) {
  kernels.add({.op = "add_rows",
               .name = "cpu:rows",
               .rank = 10,
               .declines = declines_sum,
               .prepare = prepare_add_rows,
               .in_place = true});
  kernels.add({.op = "coalesce_rows",
               .name = "cpu:rows",
               .rank = 10,
               .declines = declines_sum,
               .prepare = prepare_coalesce_rows,
               .in_place = true});
}

}  // namespace weft
