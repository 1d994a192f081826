#include "python/src/dlpack.h"

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

constexpr std::int32_t kCpu = 1;
constexpr char kName[] = "dltensor";
constexpr char kUsed[] = "used_dltensor";

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
struct Given {
  DlManagedTensor managed;
  Tensor tensor;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

void drop_unused(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kName) == 0) return;  // somebody took it
  auto* managed =
      static_cast<DlManagedTensor*>(PyCapsule_GetPointer(capsule, kName));
  managed->deleter(managed);
}

Error refused(const char* why) {
  return Error(ErrorCode::kUnsupported, "from_dlpack", "{}", why);
}

bool is_row_major(const DlTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  std::int64_t stride = 1;
  for (int axis = tensor.ndim - 1; axis >= 0; --axis) {
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != stride) return false;
    stride *= tensor.shape[axis];
  }
  return true;
}

TensorType type_of(const DlTensor& tensor) {
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

py::capsule to_dlpack(const Tensor& tensor) {
  auto* given = new Given;
  given->tensor = tensor;
  given->shape.assign(tensor.shape().begin(), tensor.shape().end());
  const auto strides = row_major_strides(tensor.shape());
  given->strides.assign(strides.begin(),
                        strides.begin() + tensor.shape().rank());
  DlTensor& out = given->managed.tensor;
  out = {tensor.raw(),
         {kCpu, 0},
         tensor.shape().rank(),
         {},
         given->shape.data(),
         given->strides.data(),
         0};
  for (const DTypeCode& each : kCodes) {
    if (each.dtype == tensor.dtype()) out.dtype = {each.code, each.bits, 1};
  }
  given->managed.context = given;
  given->managed.deleter = [](DlManagedTensor* self) {
    delete static_cast<Given*>(self->context);
  };
  return py::capsule(&given->managed, kName, &drop_unused);
}

Tensor from_dlpack(const py::handle& object) {
  const py::object capsule = object.attr("__dlpack__")();
  if (PyCapsule_IsValid(capsule.ptr(), kName) == 0) {
    throw refused("its __dlpack__() gave no tensor that is still unused");
  }
  auto* managed =
      static_cast<DlManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kName));
  const TensorType type = type_of(managed->tensor);
  PyCapsule_SetName(capsule.ptr(), kUsed);  // the bytes are ours now
  auto* data = static_cast<std::byte*>(managed->tensor.data) +
               managed->tensor.byte_offset;
  return Tensor::wrap(type, data, managed, [](void* held) {
    auto* owned = static_cast<DlManagedTensor*>(held);
    if (owned->deleter == nullptr || Py_IsInitialized() == 0) return;
    const py::gil_scoped_acquire gil;
    owned->deleter(owned);
  });
}

}  // namespace weft::python
