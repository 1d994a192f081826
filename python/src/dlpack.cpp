#include "python/src/dlpack.h"

#include <algorithm>
#include <optional>

namespace weft::python {
namespace {

// The structures as every library lays them out.
struct DlDevice {
  std::int32_t type;
  std::int32_t id;
};
struct DlDataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t ndim;
  DlDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // null: row-major
  std::uint64_t byte_offset;
};
struct DlManagedTensor {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManagedTensor*);
};

// It exists since DLPack 1.0.
struct DlVersion {
  std::uint32_t major;
  std::uint32_t minor;
};
struct DlVersionedTensor {
  DlVersion version;
  void* context;
  void (*deleter)(DlVersionedTensor*);
  std::uint64_t flags;
  DlTensor tensor;
};
constexpr std::uint64_t kReadOnly = 1;
constexpr std::uint64_t kCopied = 2;

constexpr std::int32_t kCpu = 1;

// The names of capsules, before and after somebody took what is in them.
template <class Managed>
struct Names;
template <>
struct Names<DlManagedTensor> {
  static constexpr const char* kFresh = "dltensor";
  static constexpr const char* kUsed = "used_dltensor";
};
template <>
struct Names<DlVersionedTensor> {
  static constexpr const char* kFresh = "dltensor_versioned";
  static constexpr const char* kUsed = "used_dltensor_versioned";
};

struct DTypeCode {
  DType dtype;
  std::uint8_t code;  // 0 signed, 1 unsigned, 2 floating, 4 bfloat, 6 bool
  std::uint8_t bits;
};
constexpr DTypeCode kCodes[] = {
    {DType::kF32, 2, 32},  {DType::kF64, 2, 64}, {DType::kF16, 2, 16},
    {DType::kBF16, 4, 16}, {DType::kI8, 0, 8},   {DType::kU8, 1, 8},
    {DType::kI16, 0, 16},  {DType::kI32, 0, 32}, {DType::kI64, 0, 64},
    {DType::kBool, 6, 8},
};

// What a tensor that was given away holds on to.
template <class Managed>
struct Given {
  Managed managed;
  Tensor tensor;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

template <class Managed>
// A capsule that nobody took still owns what is in it.
void drop_unused(PyObject* capsule) {
  const char* name = Names<Managed>::kFresh;
  if (PyCapsule_IsValid(capsule, name) == 0) return;  // somebody took it
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

// Gives it in a capsule; other fields than these are zero.
template <class Managed>
std::pair<py::capsule, Managed*> give(Tensor tensor) {
  auto* given = new Given<Managed>{};
  given->tensor = std::move(tensor);
  const Shape& shape = given->tensor.shape();
  given->shape.assign(shape.begin(), shape.end());
  const auto strides = row_major_strides(shape);
  given->strides.assign(strides.begin(), strides.begin() + shape.rank());
  DlTensor& out = given->managed.tensor;
  out.data = given->tensor.raw();
  out.device = {kCpu, 0};
  out.ndim = shape.rank();
  out.shape = given->shape.data();
  out.strides = given->strides.data();
  for (const DTypeCode& each : kCodes) {
    if (each.dtype != given->tensor.dtype()) continue;
    out.dtype = {each.code, each.bits, 1};
  }
  given->managed.context = given;
  given->managed.deleter = [](Managed* self) {
    delete static_cast<Given<Managed>*>(self->context);
  };
  return {py::capsule(&given->managed, Names<Managed>::kFresh,
                      &drop_unused<Managed>),
          &given->managed};
}

Error refused(const char* why) {
  return Error(ErrorCode::kUnsupported, "from_dlpack", "{}", why);
}

bool is_row_major(const DlTensor& tensor) {
  // Strides of what has no elements lead nowhere, and libraries write any.
  if (tensor.strides == nullptr ||
      std::count(tensor.shape, tensor.shape + tensor.ndim, 0) != 0) {
    return true;
  }
  std::int64_t stride = 1;
  for (int axis = tensor.ndim - 1; axis >= 0; --axis) {
    // An axis of one element may have any stride, and libraries write different
    // ones.
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != stride) return false;
    stride *= tensor.shape[axis];
  }
  return true;
}

TensorType dlpack_type(const DlTensor& tensor) {
  if (tensor.device.type != kCpu) {
    throw refused("the tensor is not in the memory of the host")
        .hint("move it to the CPU first");
  }
  if (tensor.ndim < 0 || tensor.ndim > Shape::kMaxRank) {
    throw refused("the tensor has too many axes");
  }
  if (!is_row_major(tensor)) {
    throw refused("the tensor is not dense and row-major")
        .hint("make it contiguous first");
  }
  const DlDataType& type = tensor.dtype;
  for (const DTypeCode& each : kCodes) {
    if (each.code != type.code || each.bits != type.bits || type.lanes != 1) {
      continue;
    }
    return {each.dtype,
            Shape(std::span<const Dim>(tensor.shape,
                                       static_cast<std::size_t>(tensor.ndim)))};
  }
  throw refused("Weft has no such dtype");
}

}  // namespace

py::capsule to_dlpack(const Tensor& tensor, const py::object& stream,
                      const py::object& max_version,
                      const py::object& dl_device, const py::object& copy) {
  if (!stream.is_none()) {
    throw py::buffer_error("a tensor of the host has no stream");
  }
  if (!dl_device.is_none() && !dl_device.equal(py::make_tuple(kCpu, 0))) {
    throw py::buffer_error("the tensor is in the memory of the host");
  }
  const bool knows_flags =
      !max_version.is_none() &&
      py::cast<std::int64_t>(max_version[py::int_(0)]) >= 1;
  const bool may_copy = copy.is_none() || py::cast<bool>(copy);
  // The older protocol cannot say that the bytes are read only, so its users
  // get their own.
  if (!knows_flags) {
    if (!may_copy) {
      throw py::buffer_error(
          "a tensor is read only, which DLPack can say since version 1.0: ask "
          "for it by max_version, or allow a copy");
    }
    return give<DlManagedTensor>(tensor.clone()).first;
  }
  const bool copies = !copy.is_none() && may_copy;
  auto [capsule, managed] =
      give<DlVersionedTensor>(copies ? tensor.clone() : tensor);
  managed->version = {1, 0};
  managed->flags = copies ? kCopied : kReadOnly;
  return capsule;
}

namespace {

// Takes what is in the capsule, whose bytes are ours from then on.
template <class Managed>
Tensor take(const py::object& capsule) {
  auto* managed = static_cast<Managed*>(
      PyCapsule_GetPointer(capsule.ptr(), Names<Managed>::kFresh));
  if constexpr (std::is_same_v<Managed, DlVersionedTensor>) {
    // Another major version may have other fields behind this one, so it is
    // asked before they are read.
    if (managed->version.major != 1) {
      throw refused("the tensor is laid out as in another DLPack than 1.x");
    }
  }
  const TensorType type = dlpack_type(managed->tensor);
  // From here on the tensor is ours to delete. Had it been refused above, the
  // capsule would still own it.
  PyCapsule_SetName(capsule.ptr(), Names<Managed>::kUsed);
  auto* data = static_cast<std::byte*>(managed->tensor.data) +
               managed->tensor.byte_offset;
  return Tensor::wrap(type, data, managed, [](void* held) {
    auto* owned = static_cast<Managed*>(held);
    // The specification allows for none; and what is left at the end of the
    // process may call Python no more.
    if (owned->deleter == nullptr || Py_IsInitialized() == 0) return;
    const py::gil_scoped_acquire gil;
    owned->deleter(owned);
  });
}

// Who knows DLPack 1.0 may share what it will not let be written.
py::object capsule_of(const py::handle& object) {
  const py::object speak = object.attr("__dlpack__");
  try {
    return speak(py::arg("max_version") = py::make_tuple(1, 0));
  } catch (py::error_already_set& error) {
    // A library from before 1.0 does not know the argument.
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return speak();
}

}  // namespace

Tensor from_dlpack(const py::handle& object) {
  const py::object capsule = capsule_of(object);
  if (PyCapsule_IsValid(capsule.ptr(), Names<DlVersionedTensor>::kFresh) != 0) {
    return take<DlVersionedTensor>(capsule);
  }
  if (PyCapsule_IsValid(capsule.ptr(), Names<DlManagedTensor>::kFresh) != 0) {
    return take<DlManagedTensor>(capsule);
  }
  throw refused("its __dlpack__() gave no tensor that is still unused");
}

}  // namespace weft::python
