#include "weft/serve/protocol/json_data.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "weft/serve/protocol/datatype.h"
#include "weft/serve/protocol/json_reader.h"
#include "weft/tensor/round_to_odd.h"

namespace weft::serve {
namespace {

// Reads values of a list that may be nested into the elements of a tensor.
class Filler {
 public:
  Filler(const Tensor& tensor, std::string_view text, std::size_t position,
         std::string_view where)
      : tensor_(tensor), reader_(text, position), where_(where) {}

  void fill() {
    if (reader_.peek() != '[') fail("a list of numbers is due");
    dispatch(tensor_.dtype(), [&]<class T>(T) { list<T>(); });
    if (next_ != tensor_.size()) {
      throw Refusal(Status::kBadRequest, where_,
                    "{} elements do not fill {}, which has {}", next_,
                    to_string(tensor_.type()), tensor_.size());
    }
  }

 private:
  template <class T>
  void list() {
    reader_.list([&](std::size_t) {
      if (reader_.peek() == '[') {
        list<T>();
        return;
      }
      position_ = reader_.position();
      if (next_ == tensor_.size()) {
        fail("there are more elements than {} has", to_string(tensor_.type()));
      }
      tensor_.data<T>()[next_] = element<T>();
      ++next_;
    });
  }

  template <class T>
  T element() {
    if constexpr (std::is_same_v<T, bool>) {
      return truth();
    } else if constexpr (std::is_integral_v<T>) {
      return integer<T>();
    } else if constexpr (std::is_same_v<T, double>) {
      return floating<double>();
    } else if constexpr (std::is_same_v<T, float>) {
      return floating<float>();
    } else {
      return half<T>();
    }
  }

  bool truth() {
    const char first = reader_.peek();
    if (first == 't' || first == 'f') return reader_.boolean();
    const std::string_view text = number();
    if (text != "0" && text != "1")
      fail("a BOOL is true or false, not {}", text);
    return text == "1";
  }

  template <class T>
  T integer() {
    const std::string_view text = number();
    T value = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec == std::errc() && read.ptr == end) return value;
    if (text.find_first_of(".eE") != text.npos) {
      fail("{} is no integer, and the input is {}", text, name());
    }
    fail("{} is outside of the range of {}, {} to {}", text, name(),
         static_cast<std::int64_t>(std::numeric_limits<T>::min()),
         static_cast<std::int64_t>(std::numeric_limits<T>::max()));
  }

  template <class T>
  T floating() {
    const std::string_view text = number();
    T value = 0;
    const char* end = text.data() + text.size();
    if (std::from_chars(text.data(), end, value).ec == std::errc()) {
      return value;
    }
    // What is too small is rounded as any other number is.
    const double wide = std::strtod(std::string(text).c_str(), nullptr);
    if (std::fabs(wide) < 1) return static_cast<T>(wide);
    fail("{} is outside of the range of {}", text, name());
  }

  // FP16 and BF16, which are rounded once.
  template <class T>
  T half() {
    const double wide = floating<double>();
    const T value(round_to_odd(wide));
    if (std::isfinite(static_cast<float>(value))) return value;
    fail("{} is outside of the range of {}", wide, name());
  }

  std::string_view number() {
    const char first = reader_.peek();
    position_ = reader_.position();
    if (first != '-' && (first < '0' || first > '9')) {
      fail("a number is due, as the input is {}", name());
    }
    return reader_.number();
  }

  std::string_view name() const { return protocol_name(tensor_.dtype()); }

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
    throw Refusal(Status::kBadRequest, fmt::format("{}[{}]", where_, next_),
                  "{} (byte {})",
                  fmt::format(format, std::forward<Args>(args)...), position_);
  }

  const Tensor& tensor_;
  JsonReader reader_;
  std::string_view where_;
  std::int64_t next_ = 0;
  std::size_t position_ = 0;  // of the element that is read
};

template <class T>
void append_number(std::string& out, T value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  out.append(text.data(), end.ptr);
}

template <class T>
void append_element(std::string& out, T value) {
  if constexpr (std::is_same_v<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    append_number(out, static_cast<std::int64_t>(value));
  } else if constexpr (std::is_class_v<T>) {
    append_element(out, static_cast<float>(value));
  } else if (std::isfinite(value)) {
    append_number(out, value);
  } else {
    out += "null";
  }
}

}  // namespace

Tensor tensor_of_json(const TensorType& type, std::string_view text,
                      std::size_t position, std::string_view where) {
  Tensor tensor = Tensor::empty(type);
  Filler(tensor, text, position, where).fill();
  return tensor;
}

void append_json(std::string& out, const Tensor& tensor) {
  out += '[';
  dispatch(tensor.dtype(), [&]<class T>(T) {
    const T* data = tensor.data<T>();
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      if (i > 0) out += ',';
      append_element(out, data[i]);
    }
  });
  out += ']';
}

void append_json(std::string& out, std::string_view text) {
  out += nlohmann::json(text).dump(-1, ' ', false,
                                   nlohmann::json::error_handler_t::replace);
}

}  // namespace weft::serve
