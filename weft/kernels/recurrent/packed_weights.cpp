#include "weft/kernels/recurrent/packed_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "weft/base/cpu.h"
#include "weft/base/parallel.h"
#include "weft/graph/shared_packing.h"

namespace weft::recurrent {
namespace {

constexpr std::size_t kLine = 64;

std::size_t whole_lines(std::size_t bytes) {
  return (bytes + kLine - 1) / kLine * kLine;
}

std::size_t scales_begin(const PanelLayout& layout) {
  return whole_lines(layout.panels() * layout.panel_bytes());
}
std::size_t offsets_begin(const PanelLayout& layout) {
  return scales_begin(layout) +
         whole_lines(layout.panels() * layout.columns() * sizeof(float));
}

// Calls body(first, last) on parts of the panels.
template <class Body>
void for_each_part(const PanelLayout& layout, Body&& body) {
  parallel_for(static_cast<std::int64_t>(layout.panels()), 1,
               [&](std::int64_t begin, std::int64_t end) {
                 body(static_cast<std::size_t>(begin),
                      static_cast<std::size_t>(end));
               });
}

// Puts convert(value, panel, its column) of each weight in its place.
template <class T, class Convert>
void pack_part(const PanelLayout& layout, const float* w, std::size_t first,
               std::size_t last, std::byte* to, Convert&& convert) {
  const std::size_t row_size = layout.gates * layout.hidden;
  const std::size_t columns = layout.columns();
  std::memset(to + first * layout.panel_bytes(), 0,
              (last - first) * layout.panel_bytes());
  for (std::size_t row = 0; row < layout.rows; ++row) {
    const std::size_t group =
        row / layout.group * layout.group * columns + row % layout.group;
    for (std::size_t gate = 0; gate < layout.gates; ++gate) {
      const float* from = w + row * row_size + gate * layout.hidden;
      for (std::size_t panel = first; panel < last; ++panel) {
        const std::size_t unit = panel * layout.units;
        const std::size_t count = std::min(layout.units, layout.hidden - unit);
        const std::size_t column = gate * layout.units;
        T* target = reinterpret_cast<T*>(to + panel * layout.panel_bytes()) +
                    group + column * layout.group;
        for (std::size_t i = 0; i < count; ++i) {
          target[i * layout.group] = convert(from[unit + i], panel, column + i);
        }
      }
    }
  }
}

// A thread packs several panels side by side, so that it reads rows of the
// weights as they lie.
template <class T, class Convert>
void pack_as(const PanelLayout& layout, const float* w, std::byte* to,
             Convert&& convert) {
  for_each_part(layout, [&](std::size_t first, std::size_t last) {
    pack_part<T>(layout, w, first, last, to, convert);
  });
}

// The largest of each column, times 1 / 127, into `scales`; NaN where one is no
// number.
void find_scales(const PanelLayout& layout, const float* w, std::size_t panel,
                 float* scales) {
  const std::size_t row_size = layout.gates * layout.hidden;
  const std::size_t unit = panel * layout.units;
  const std::size_t count = std::min(layout.units, layout.hidden - unit);
  std::fill_n(scales, layout.columns(), 0.f);
  for (std::size_t row = 0; row < layout.rows; ++row) {
    for (std::size_t gate = 0; gate < layout.gates; ++gate) {
      const float* from = w + row * row_size + gate * layout.hidden + unit;
      float* to = scales + gate * layout.units;
      for (std::size_t i = 0; i < count; ++i) {
        const float size = std::abs(from[i]);
        // Nothing is larger than NaN, which so stays.
        if (size > to[i] || std::isnan(size)) to[i] = size;
      }
    }
  }
  for (std::size_t i = 0; i < layout.columns(); ++i) {
    scales[i] = std::isfinite(scales[i]) ? scales[i] / 127.f : NAN;
  }
}

// scale q, with a scale for each column of w.
void pack_i8(const PanelLayout& layout, const float* w, std::byte* to) {
  auto* all_scales = reinterpret_cast<float*>(to + scales_begin(layout));
  auto* all_offsets =
      reinterpret_cast<std::int32_t*>(to + offsets_begin(layout));
  const std::size_t columns = layout.columns();
  for_each_part(layout, [&](std::size_t first, std::size_t last) {
    for (std::size_t panel = first; panel < last; ++panel) {
      find_scales(layout, w, panel, all_scales + panel * columns);
      std::fill_n(all_offsets + panel * columns, columns, 0);
    }
    pack_part<std::int8_t>(
        layout, w, first, last, to,
        [&](float value, std::size_t panel, std::size_t column) {
          const float scale = all_scales[panel * columns + column];
          if (!(scale > 0)) return std::int8_t{0};
          const auto q =
              static_cast<std::int8_t>(std::nearbyint(value / scale));
          all_offsets[panel * columns + column] += 128 * q;
          return q;
        });
  });
}

}  // namespace

std::size_t PanelLayout::bytes() const {
  if (dtype != DType::kI8) return scales_begin(*this);
  return offsets_begin(*this) +
         whole_lines(panels() * columns() * sizeof(std::int32_t));
}

std::size_t group_of(DType dtype) {
  if (dtype == DType::kF32) return 1;
  if (dtype == DType::kBF16) return 2;
  return instruction_set() >= InstructionSet::kAvx512Vnni ? 4 : 2;
}

Panels::Panels(const PanelLayout& layout, const std::byte* memory)
    : memory_(memory),
      panel_bytes_(layout.panel_bytes()),
      columns_(layout.columns()),
      groups_(layout.groups()) {
  if (layout.dtype != DType::kI8) return;
  scales_ = reinterpret_cast<const float*>(memory + scales_begin(layout));
  offsets_ =
      reinterpret_cast<const std::int32_t*>(memory + offsets_begin(layout));
}

void pack(const PanelLayout& layout, const float* w, std::byte* to) {
  switch (layout.dtype) {
    case DType::kF32:
      pack_as<float>(layout, w, to, [](float value, std::size_t, std::size_t) {
        return value;
      });
      return;
    case DType::kBF16:
      pack_as<bfloat16>(layout, w, to,
                        [](float value, std::size_t, std::size_t) {
                          return bfloat16(value);
                        });
      return;
    default:
      pack_i8(layout, w, to);
  }
}

std::shared_ptr<const Tensor> shared_panels(const PanelLayout& layout,
                                            const Tensor& w) {
  return shared_packing(
      w,
      fmt::format("panels {} {} {} {} {} {}", to_string(layout.dtype),
                  layout.rows, layout.gates, layout.hidden, layout.units,
                  layout.group),
      [&] {
        const Tensor panels =
            Tensor::empty({DType::kU8, {static_cast<Dim>(layout.bytes())}});
        pack(layout, w.data<float>(), static_cast<std::byte*>(panels.raw()));
        return panels;
      });
}

}  // namespace weft::recurrent
