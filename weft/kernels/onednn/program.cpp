#include "weft/kernels/onednn/program.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <map>
#include <mutex>

#include "weft/base/parallel.h"
#include "weft/graph/shared_packing.h"

namespace weft::onednn {
namespace {

dnnl::memory::data_type data_type(DType dtype) {
  switch (dtype) {
    case DType::kBF16:
      return dnnl::memory::data_type::bf16;
    case DType::kF16:
      return dnnl::memory::data_type::f16;
    case DType::kI8:
      return dnnl::memory::data_type::s8;
    case DType::kU8:
      return dnnl::memory::data_type::u8;
    case DType::kI32:
      return dnnl::memory::data_type::s32;
    default:
      break;
  }
  WEFT_CHECK(dtype == DType::kF32, "oneDNN gets no {}", to_string(dtype));
  return dnnl::memory::data_type::f32;
}

// Tells layouts apart. They can be compared, but do not show all that they are:
// so each one is its dims and its number among those of the same dims.
std::string text_of(const dnnl::memory::desc& layout) {
  static std::mutex mutex;
  static std::map<dnnl::memory::dims, std::vector<dnnl::memory::desc>> known;
  const std::lock_guard lock(mutex);
  const dnnl::memory::dims dims = dims_of(layout);
  auto& alike = known[dims];
  const auto found = std::ranges::find(alike, layout);
  const auto number = found - alike.begin();
  if (found == alike.end()) alike.push_back(layout);
  return fmt::format("{} {}", dims, number);
}

std::size_t align(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

void relu_in_place(const TensorType& type, void* y) {
  constexpr std::int64_t kLeast = 16 << 10;
  parallel_for(type.shape.num_elements(), kLeast,
               [&](std::int64_t begin, std::int64_t end) {
                 if (type.dtype == DType::kF32) {
                   auto* values = static_cast<float*>(y);
                   for (std::int64_t i = begin; i < end; ++i) {
                     // The comparison is false for NaN, which so stays.
                     values[i] = values[i] < 0 ? 0 : values[i];
                   }
                   return;
                 }
                 // A negative bf16 that is no NaN lies between these.
                 auto* bits = static_cast<std::uint16_t*>(y);
                 for (std::int64_t i = begin; i < end; ++i) {
                   const bool is_negative =
                       bits[i] > 0x8000 && bits[i] <= 0xff80;
                   bits[i] = is_negative ? std::uint16_t{0} : bits[i];
                 }
               });
}

// "jit:avx512_core", or "ref:any" where oneDNN has nothing better.
std::string name_of(const dnnl::primitive& primitive) {
  const char* name = nullptr;
  const dnnl_status_t status = dnnl_primitive_desc_query(
      primitive.get_primitive_desc(), dnnl_query_impl_info_str, 0,
      static_cast<void*>(&name));
  WEFT_CHECK(status == dnnl_success, "oneDNN status {}",
             static_cast<int>(status));
  return name;
}

}  // namespace

const dnnl::engine& engine() {
  obey_instruction_set();
  // One engine serves all programs, and is made after the limit has been set,
  // since oneDNN looks at the processor once.
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

dnnl::memory::desc strided(DType dtype, const dnnl::memory::dims& dims,
                           const dnnl::memory::dims& strides) {
  return {dims, data_type(dtype), strides};
}

dnnl::memory::desc dense(DType dtype, const dnnl::memory::dims& dims) {
  dnnl::memory::dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * dims[i];
  }
  return strided(dtype, dims, strides);
}

dnnl::memory::desc any_layout(DType dtype, const dnnl::memory::dims& dims) {
  return {dims, data_type(dtype), dnnl::memory::format_tag::any};
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attr;
  // Its memory then comes from the plan's scratch, and a run allocates nothing.
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

// A stream is for one thread at a time, so each program has its own.
Program::Program() : stream_(engine()) {}

Slot Program::reserve(const dnnl::memory::desc& layout) {
  const Slot slot{Slot::kScratch, scratch_bytes_};
  scratch_bytes_ += align(layout.get_size());
  return slot;
}

void Program::add(const dnnl::primitive& primitive,
                  const dnnl::memory::desc& scratchpad,
                  const std::vector<Argument>& arguments) {
  Step step{primitive, {}, {}, {}};
  const auto bind = [&](const Argument& argument) {
    // Addresses are set at each run, since operands may lie elsewhere each
    // time.
    step.memories.emplace_back(argument.layout, engine(), nullptr);
    step.slots.push_back(argument.slot);
    step.arguments.push_back({argument.name, step.memories.back().get()});
  };
  for (const Argument& argument : arguments) bind(argument);
  if (scratchpad.get_size() > 0) {
    bind({DNNL_ARG_SCRATCHPAD, scratchpad, reserve(scratchpad)});
  }
  steps_.push_back(std::move(step));
  // People look for what computes.
  if (primitive.get_kind() == dnnl::primitive::kind::reorder) return;
  if (!implementation_.empty()) implementation_ += ", ";
  implementation_ += name_of(primitive);
}

void Program::add_reorder(const dnnl::memory::desc& from, Slot source,
                          const dnnl::memory::desc& to, Slot target) {
  const dnnl::reorder::primitive_desc description(engine(), from, engine(), to,
                                                  attributes());
  add(dnnl::reorder(description), description.scratchpad_desc(),
      {{DNNL_ARG_FROM, from, source}, {DNNL_ARG_TO, to, target}});
}

Slot Program::in_layout(const dnnl::memory::desc& from, Slot slot,
                        const dnnl::memory::desc& to) {
  // Most often the plain layout is the one that the primitive likes.
  if (from == to) return slot;
  const Slot copy = reserve(to);
  add_reorder(from, slot, to, copy);
  return copy;
}

Slot Program::in_layout(const OpCall& call, std::size_t input,
                        const dnnl::memory::desc& from,
                        const dnnl::memory::desc& to) {
  const Tensor* known = call.known_input(input);
  if (known == nullptr || from == to) {
    return in_layout(from, Slot::input(input), to);
  }
  kept_.push_back(shared_packing(
      *known, fmt::format("oneDNN {}, {}", text_of(from), text_of(to)), [&] {
        Tensor copy =
            Tensor::empty({DType::kU8, {static_cast<Dim>(to.get_size())}});
        dnnl::memory source(from, engine(), known->raw());
        dnnl::memory target(to, engine(), copy.raw());
        dnnl::reorder(source, target).execute(stream_, source, target);
        stream_.wait();
        return copy;
      }));
  return {Slot::kKept, kept_.size() - 1};
}

void Program::run(const KernelBuffers& buffers) noexcept {
  const auto address = [&](const Slot& slot) -> void* {
    switch (slot.kind) {
      case Slot::kInput:
        return buffers.inputs[slot.index];
      case Slot::kOutput:
        return buffers.outputs[slot.index];
      case Slot::kKept:
        return kept_[slot.index]->raw();
      case Slot::kScratch:
        break;
    }
    return static_cast<std::byte*>(buffers.scratch) + slot.index;
  };
  for (Step& step : steps_) {
    for (std::size_t i = 0; i < step.slots.size(); ++i) {
      // The C functions are called, as those of C++ throw and a kernel must
      // not.
      dnnl_memory_set_data_handle(step.memories[i].get(),
                                  address(step.slots[i]));
    }
    const dnnl_status_t status = dnnl_primitive_execute(
        step.primitive.get(), stream_.get(),
        static_cast<int>(step.arguments.size()), step.arguments.data());
    WEFT_CHECK(status == dnnl_success, "oneDNN status {}",
               static_cast<int>(status));
  }
  if (relu_) relu_in_place(*relu_, buffers.outputs[0]);
}

}  // namespace weft::onednn
