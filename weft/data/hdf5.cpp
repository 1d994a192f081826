#include "weft/data/hdf5.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/libraries/shared_library.h"

namespace weft {
namespace {

// As hdf5.h has them since 1.10.
using Id = std::int64_t;
using Size = unsigned long long;

// H5Gpublic.h: H5G_info_t.
struct GroupInfo {
  int storage = 0;
  Size links = 0;
  std::int64_t most_order = 0;
  bool is_mounted = false;
};

// H5Ipublic.h, H5Tpublic.h, H5Dpublic.h: the values of H5I_type_t, H5T_class_t
// and H5D_layout_t that are asked for.
constexpr int kGroup = 2;
constexpr int kDataset = 5;
constexpr int kInteger = 0;
constexpr int kFloating = 1;
constexpr int kUnsigned = 0;
constexpr int kChunked = 2;
constexpr Id kDefault = 0;
constexpr int kMostDepth = 16;

// What we call of the library.
struct Hdf5 {
  int (*open)();
  int (*version)(unsigned*, unsigned*, unsigned*);
  int (*silence)(Id, void*, void*);
  Id (*open_file)(const char*, unsigned, Id);
  int (*close_file)(Id);
  Id (*open_group)(Id, const char*, Id);
  int (*close_group)(Id);
  int (*group_info)(Id, GroupInfo*);
  std::ptrdiff_t (*link_name)(Id, const char*, int, int, Size, char*,
                              std::size_t, Id);
  Id (*open_object)(Id, const char*, Id);
  int (*close_object)(Id);
  int (*id_type)(Id);
  Id (*open_dataset)(Id, const char*, Id);
  int (*close_dataset)(Id);
  Id (*space)(Id);
  Id (*type)(Id);
  Id (*creation)(Id);
  int (*axes)(Id);
  int (*sizes)(Id, Size*, Size*);
  int (*select)(Id, int, const Size*, const Size*, const Size*, const Size*);
  Id (*create_space)(int, const Size*, const Size*);
  int (*close_space)(Id);
  int (*type_class)(Id);
  std::size_t (*type_size)(Id);
  int (*type_sign)(Id);
  int (*close_type)(Id);
  Id (*create_properties)(Id);
  int (*close_properties)(Id);
  int (*layout)(Id);
  int (*chunk)(Id, int, Size*);
  int (*cache_chunks)(Id, std::size_t, std::size_t, double);
  int (*read)(Id, Id, Id, Id, Id, void*);
  // Numbers that are only known when it is open.
  Id access_class, f32, i8, u8, i16, i32, i64;
};

Hdf5 load_hdf5() {
  const SharedLibrary library(
      {.name = "HDF5",
       .variable = "WEFT_HDF5",
       .files = {"libhdf5_serial.so.103", "libhdf5.so.310", "libhdf5.so.200",
                 "libhdf5.so.103", "libhdf5.so"},
       .how = "apt-get install libhdf5-103-1; WEFT_HDF5=FILE names another "
              "libhdf5.so"});
  Hdf5 hdf5{};
  library.find(hdf5.open, "H5open");
  library.find(hdf5.version, "H5get_libversion");
  library.find(hdf5.silence, "H5Eset_auto2");
  library.find(hdf5.open_file, "H5Fopen");
  library.find(hdf5.close_file, "H5Fclose");
  library.find(hdf5.open_group, "H5Gopen2");
  library.find(hdf5.close_group, "H5Gclose");
  library.find(hdf5.group_info, "H5Gget_info");
  library.find(hdf5.link_name, "H5Lget_name_by_idx");
  library.find(hdf5.open_object, "H5Oopen");
  library.find(hdf5.close_object, "H5Oclose");
  library.find(hdf5.id_type, "H5Iget_type");
  library.find(hdf5.open_dataset, "H5Dopen2");
  library.find(hdf5.close_dataset, "H5Dclose");
  library.find(hdf5.space, "H5Dget_space");
  library.find(hdf5.type, "H5Dget_type");
  library.find(hdf5.creation, "H5Dget_create_plist");
  library.find(hdf5.axes, "H5Sget_simple_extent_ndims");
  library.find(hdf5.sizes, "H5Sget_simple_extent_dims");
  library.find(hdf5.select, "H5Sselect_hyperslab");
  library.find(hdf5.create_space, "H5Screate_simple");
  library.find(hdf5.close_space, "H5Sclose");
  library.find(hdf5.type_class, "H5Tget_class");
  library.find(hdf5.type_size, "H5Tget_size");
  library.find(hdf5.type_sign, "H5Tget_sign");
  library.find(hdf5.close_type, "H5Tclose");
  library.find(hdf5.create_properties, "H5Pcreate");
  library.find(hdf5.close_properties, "H5Pclose");
  library.find(hdf5.layout, "H5Pget_layout");
  library.find(hdf5.chunk, "H5Pget_chunk");
  library.find(hdf5.cache_chunks, "H5Pset_chunk_cache");
  library.find(hdf5.read, "H5Dread");
  unsigned major = 0, minor = 0, release = 0;
  // Ids had fewer bits before.
  if (hdf5.open() < 0 || hdf5.version(&major, &minor, &release) < 0 ||
      std::pair(major, minor) < std::pair(1u, 10u)) {
    throw Error(ErrorCode::kUnavailable, "HDF5",
                "the library is {}.{}.{}, and 1.10 or newer is needed", major,
                minor, release);
  }
  // Errors come back as codes; by default they are printed, too.
  hdf5.silence(kDefault, nullptr, nullptr);
  const auto number = [&](const char* name) {
    return *static_cast<const Id*>(library.symbol(name));
  };
  hdf5.access_class = number("H5P_CLS_DATASET_ACCESS_ID_g");
  hdf5.f32 = number("H5T_NATIVE_FLOAT_g");
  hdf5.i8 = number("H5T_NATIVE_INT8_g");
  hdf5.u8 = number("H5T_NATIVE_UINT8_g");
  hdf5.i16 = number("H5T_NATIVE_INT16_g");
  hdf5.i32 = number("H5T_NATIVE_INT32_g");
  hdf5.i64 = number("H5T_NATIVE_INT64_g");
  return hdf5;
}

const Hdf5& library() {
  static const Hdf5 loaded = load_hdf5();
  return loaded;
}

// The library keeps a list of errors and much else that is not for several
// threads.
std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

// An id that is given back when it is no longer needed.
class Held {
 public:
  Held(Id id, int (*close)(Id)) : id_(id), close_(close) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (id_ >= 0) close_(id_);
  }
  Id id() const { return id_; }

 private:
  Id id_;
  int (*close_)(Id);
};

struct Memory {
  DType dtype;
  Id type;
};

// What values of a type of the file become; nothing where Weft has no such
// numbers.
std::optional<Memory> memory_of(Id type) {
  const Hdf5& h5 = library();
  const std::size_t size = h5.type_size(type);
  const int kind = h5.type_class(type);
  if (kind == kFloating && (size == 2 || size == 4 || size == 8)) {
    return Memory{DType::kF32, h5.f32};
  }
  if (kind != kInteger) return {};
  const bool is_unsigned = h5.type_sign(type) == kUnsigned;
  switch (size) {
    case 1:
      return is_unsigned ? Memory{DType::kU8, h5.u8}
                         : Memory{DType::kI8, h5.i8};
    case 2:
      return is_unsigned ? Memory{DType::kI32, h5.i32}
                         : Memory{DType::kI16, h5.i16};
    case 4:
      return is_unsigned ? Memory{DType::kI64, h5.i64}
                         : Memory{DType::kI32, h5.i32};
    case 8:
      if (!is_unsigned) return Memory{DType::kI64, h5.i64};
      return {};
    default:
      return {};
  }
}

}  // namespace

Hdf5File::Hdf5File(std::filesystem::path path) : path_(std::move(path)) {
  const Hdf5& h5 = library();
  const std::lock_guard lock(library_mutex());
  file_ = h5.open_file(path_.c_str(), 0, kDefault);
  if (file_ < 0) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path_, ignored)) {
      throw Error(ErrorCode::kUnavailable, path_.string(), "cannot be opened");
    }
    throw Error(ErrorCode::kDataLoss, path_.string(),
                "is no HDF5 file, or a damaged one");
  }
  list("", 0);
  std::ranges::sort(names_);
}

Hdf5File::~Hdf5File() {
  const std::lock_guard lock(library_mutex());
  for (const auto& [name, set] : sets_) library().close_dataset(set.id);
  if (file_ >= 0) library().close_file(file_);
}

void Hdf5File::list(const std::string& group, int depth) {
  const Hdf5& h5 = library();
  const Held opened(
      h5.open_group(file_, group.empty() ? "/" : group.c_str(), kDefault),
      h5.close_group);
  GroupInfo info;
  // Links may lead round in a circle.
  if (depth > kMostDepth || h5.group_info(opened.id(), &info) < 0) return;
  for (Size i = 0; i < info.links; ++i) {
    char name[1024];
    // Links are counted by their names, from the first one on.
    const auto length =
        h5.link_name(opened.id(), ".", 0, 0, i, name, sizeof name, kDefault);
    if (length < 0 || length >= static_cast<std::ptrdiff_t>(sizeof name)) {
      continue;
    }
    const std::string full = group.empty() ? name : group + "/" + name;
    const Held object(h5.open_object(file_, full.c_str(), kDefault),
                      h5.close_object);
    // A link may lead nowhere.
    const int kind = object.id() < 0 ? -1 : h5.id_type(object.id());
    if (kind == kDataset) names_.push_back(full);
    if (kind == kGroup) list(full, depth + 1);
  }
}

TensorType Hdf5File::open(const std::string& name, std::int64_t kept_chunks) {
  const std::lock_guard lock(library_mutex());
  auto found = sets_.find(name);
  if (found == sets_.end()) {
    found = sets_.emplace(name, open_set(name, kept_chunks)).first;
  }
  return found->second.type;
}

Hdf5File::Set Hdf5File::open_set(const std::string& name,
                                 std::int64_t kept_chunks) const {
  const Hdf5& h5 = library();
  const auto fail = [&](ErrorCode code, std::string_view what) {
    return Error(code, path_.string(), "the dataset '{}' {}", name, what);
  };
  Set set;
  std::vector<Size> sizes;
  std::size_t bytes = 1;  // of a row of chunks
  {
    // It is opened twice: how much of it is kept depends on its chunks.
    const Held opened(h5.open_dataset(file_, name.c_str(), kDefault),
                      h5.close_dataset);
    if (opened.id() < 0) throw fail(ErrorCode::kDataLoss, "cannot be opened");
    const Held type(h5.type(opened.id()), h5.close_type);
    const std::optional<Memory> memory = memory_of(type.id());
    if (!memory) {
      throw fail(ErrorCode::kUnsupported,
                 "has no numbers of 8 to 64 bits (uint64 is none of them)");
    }
    const Held space(h5.space(opened.id()), h5.close_space);
    const int axes = h5.axes(space.id());
    if (axes < 1 || axes > Shape::kMaxRank - 1) {
      throw fail(ErrorCode::kUnsupported,
                 fmt::format("has {} axes, where the first counts examples and "
                             "there are at most {}",
                             axes, Shape::kMaxRank - 1));
    }
    sizes.resize(static_cast<std::size_t>(axes));
    h5.sizes(space.id(), sizes.data(), nullptr);
    set.memory_type = memory->type;
    set.type.dtype = memory->dtype;
    for (const Size size : sizes) {
      set.type.shape.push_back(static_cast<Dim>(size));
    }
    const Held creation(h5.creation(opened.id()), h5.close_properties);
    std::vector<Size> chunk(sizes.size(), 1);
    if (h5.layout(creation.id()) == kChunked &&
        h5.chunk(creation.id(), axes, chunk.data()) == axes) {
      set.chunk_rows = static_cast<std::int64_t>(chunk[0]);
      bytes = h5.type_size(type.id()) * chunk[0];
      // Chunks at the edges are whole.
      for (std::size_t i = 1; i < chunk.size(); ++i) {
        bytes *= (sizes[i] + chunk[i] - 1) / chunk[i] * chunk[i];
      }
    }
  }
  const Held access(h5.create_properties(h5.access_class), h5.close_properties);
  if (set.chunk_rows > 1) {
    // A prime, some hundred times the chunks, as the manual has it.
    constexpr std::size_t kSlots = 100'003;
    h5.cache_chunks(access.id(), kSlots,
                    bytes * static_cast<std::size_t>(kept_chunks), 1.0);
  }
  set.id = h5.open_dataset(file_, name.c_str(), access.id());
  if (set.id < 0) throw fail(ErrorCode::kDataLoss, "cannot be opened");
  return set;
}

std::int64_t Hdf5File::chunk_rows(const std::string& name) const {
  return sets_.at(name).chunk_rows;
}

void Hdf5File::read(const std::string& name, std::int64_t begin,
                    std::int64_t end, void* to) const {
  const Hdf5& h5 = library();
  const std::lock_guard lock(library_mutex());
  const Set& set = sets_.at(name);
  const auto rank = static_cast<std::size_t>(set.type.shape.rank());
  std::vector<Size> first(rank, 0);
  std::vector<Size> count;
  for (const Dim dim : set.type.shape) count.push_back(static_cast<Size>(dim));
  first[0] = static_cast<Size>(begin);
  count[0] = static_cast<Size>(end - begin);
  const Held from(h5.space(set.id), h5.close_space);
  const Held room(
      h5.create_space(static_cast<int>(rank), count.data(), nullptr),
      h5.close_space);
  if (h5.select(from.id(), 0, first.data(), nullptr, count.data(), nullptr) <
          0 ||
      h5.read(set.id, set.memory_type, room.id(), from.id(), kDefault, to) <
          0) {
    throw Error(ErrorCode::kDataLoss, path_.string(),
                "rows {} to {} of '{}' cannot be read", begin, end, name);
  }
}

}  // namespace weft
