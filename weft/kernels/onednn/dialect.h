// What differs between oneDNN 2.x and 3.x, and nothing else: all other files of
// this folder, and those that use it, read the same for both.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace weft::onednn {

// The primitive descriptor of a forward operation: version 3 merged the
// operation descriptor of version 2 into it.
template <class Primitive, class... Args>
typename Primitive::primitive_desc descriptor(const dnnl::engine& engine,
                                              const dnnl::primitive_attr& attr,
                                              const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, args..., attr};
#else
  return {typename Primitive::desc(args...), attr, engine};
#endif
}

// The same for a backward operation, which wants the forward one as a hint.
template <class Primitive, class Hint, class... Args>
typename Primitive::primitive_desc backward_descriptor(
    const dnnl::engine& engine, const dnnl::primitive_attr& attr,
    const Hint& hint, const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, args..., hint, attr};
#else
  return {typename Primitive::desc(args...), attr, engine, hint};
#endif
}

inline dnnl::memory::dims dims_of(const dnnl::memory::desc& layout) {
#if DNNL_VERSION_MAJOR >= 3
  return layout.get_dims();
#else
  return layout.dims();
#endif
}

#if DNNL_VERSION_MAJOR >= 3
inline constexpr auto kEveryIsa = dnnl::cpu_isa::isa_default;
inline constexpr auto kFp16Isa = dnnl::cpu_isa::avx512_core_fp16;
#else
inline constexpr auto kEveryIsa = dnnl::cpu_isa::all;
// It does not know f16's instructions.
inline constexpr auto kFp16Isa = dnnl::cpu_isa::avx512_core_bf16;
#endif

}  // namespace weft::onednn
