#include "weft/market/key_socket.h"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace weft::market {
namespace {

constexpr std::size_t kMostLine = std::size_t{1} << 20;
constexpr int kLookForStop = 200;  // milliseconds
constexpr int kPatience = 10'000;  // milliseconds that a line may take
constexpr int kWaiting = 16;       // connections

Error socket_failed(const std::filesystem::path& path, const char* what) {
  return Error(ErrorCode::kUnavailable, path.string(), "{}: {}", what,
               std::strerror(errno));
}

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.size() >= sizeof address.sun_path) {
    throw Error(ErrorCode::kInvalidArgument, text,
                "is too long for the name of a socket: {} bytes are the most",
                sizeof address.sun_path - 1);
  }
  std::memcpy(address.sun_path, text.data(), text.size());
  return address;
}

bool is_readable(int descriptor, int milliseconds) {
  pollfd ready{.fd = descriptor, .events = POLLIN, .revents = 0};
  return poll(&ready, 1, milliseconds) > 0;
}

// Without its line feed; nothing where it does not come.
std::optional<std::string> read_line(int descriptor) {
  std::string line;
  std::array<char, 4096> buffer;
  while (line.size() < kMostLine && is_readable(descriptor, kPatience)) {
    const ssize_t found = recv(descriptor, buffer.data(), buffer.size(), 0);
    if (found <= 0) return std::nullopt;
    line.append(buffer.data(), static_cast<std::size_t>(found));
    if (line.back() == '\n') {
      line.pop_back();
      return line;
    }
  }
  return std::nullopt;
}

bool write_line(int descriptor, std::string line) {
  line += '\n';
  std::size_t sent = 0;
  while (sent < line.size()) {
    // Whoever asked may be gone: that is an error, and no SIGPIPE that ends
    // all.
    const ssize_t some =
        send(descriptor, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (some <= 0) return false;
    sent += static_cast<std::size_t>(some);
  }
  return true;
}

template <std::size_t kBytes>
std::array<std::uint8_t, kBytes> bytes_in(const nlohmann::json& json,
                                          const char* name) {
  std::array<std::uint8_t, kBytes> bytes;
  const auto found = json.find(name);
  if (found == json.end() || !found->is_string() ||
      !from_hex(found->get<std::string>(), bytes)) {
    throw Error(ErrorCode::kInvalidArgument, "key service",
                "the request has no '{}'", name);
  }
  return bytes;
}

std::string answer_of(KeyService& service, const nlohmann::json& json) {
  KeyRequest request{.nonce = bytes_in<32>(json, "nonce"),
                     .measurement = bytes_in<32>(json, "measurement"),
                     .channel = bytes_in<32>(json, "channel"),
                     .contents = {}};
  const auto number = json.find("job");
  const auto contents = json.find("contents");
  if (number == json.end() || !number->is_number_integer() ||
      contents == json.end() || !contents->is_array()) {
    throw Error(ErrorCode::kInvalidArgument, "key service",
                "the request names no job and shards");
  }
  request.job = number->get<std::int64_t>();
  for (const auto& content : *contents) {
    request.contents.push_back(
        bytes_in<32>(nlohmann::json{{"content", content}}, "content"));
  }
  // Services of other owners have the other keys.
  return service.release(request, bytes_in<64>(json, "signature"));
}

std::string hex_of(const std::string& bytes) {
  return to_hex(
      {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

}  // namespace

std::string answer_line(KeyService& service, std::string_view line) {
  try {
    const auto json = nlohmann::json::parse(line, /*cb=*/nullptr,
                                            /*allow_exceptions=*/false);
    if (!json.is_object()) {
      throw Error(ErrorCode::kInvalidArgument, "key service",
                  "the request is no object of JSON");
    }
    return nlohmann::json{{"box", hex_of(answer_of(service, json))}}.dump();
  } catch (const Error& error) {
    return nlohmann::json{{"refused", error.message()}}.dump();
  }
}

std::string request_line(const KeyRequest& request,
                         const Signature& signature) {
  nlohmann::ordered_json json{{"job", request.job},
                              {"nonce", to_hex(request.nonce)},
                              {"measurement", to_hex(request.measurement)},
                              {"channel", to_hex(request.channel)}};
  auto& contents = json["contents"] = nlohmann::ordered_json::array();
  for (const Digest& content : request.contents) {
    contents.push_back(to_hex(content));
  }
  json["signature"] = to_hex(signature);
  return json.dump();
}

void serve_keys(const std::filesystem::path& path, KeyService& service,
                const std::atomic<bool>& stop,
                const std::function<void(const std::string&)>& told) {
  const sockaddr_un address = address_of(path);
  const Socket listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  unlink(path.c_str());
  if (listening.get() < 0 ||
      bind(listening.get(), reinterpret_cast<const sockaddr*>(&address),
           sizeof address) != 0 ||
      chmod(path.c_str(), 0600) != 0 ||
      listen(listening.get(), kWaiting) != 0) {
    throw socket_failed(path, "cannot be listened at");
  }
  while (!stop) {
    if (!is_readable(listening.get(), kLookForStop)) continue;
    const Socket one(accept(listening.get(), nullptr, nullptr));
    if (one.get() < 0) continue;
    const auto line = read_line(one.get());
    if (!line) continue;
    const std::string answer = answer_line(service, *line);
    told(answer.starts_with("{\"box\"") ? "keys were released" : answer);
    write_line(one.get(), answer);
  }
  unlink(path.c_str());
}

std::string ask_keys(const std::filesystem::path& path,
                     const KeyRequest& request, const Signature& signature) {
  const sockaddr_un address = address_of(path);
  const Socket asking(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (asking.get() < 0 ||
      connect(asking.get(), reinterpret_cast<const sockaddr*>(&address),
              sizeof address) != 0) {
    throw socket_failed(path, "no key service answers");
  }
  const bool is_sent =
      write_line(asking.get(), request_line(request, signature));
  const auto line = is_sent ? read_line(asking.get()) : std::nullopt;
  if (!line) throw socket_failed(path, "the key service said nothing");
  const auto json = nlohmann::json::parse(*line, /*cb=*/nullptr,
                                          /*allow_exceptions=*/false);
  const auto box = json.is_object() ? json.find("box") : json.end();
  if (!json.is_object() || box == json.end() || !box->is_string()) {
    throw Error(ErrorCode::kUnavailable, path.string(), "{}",
                json.is_object() ? json.value("refused", *line) : *line);
  }
  const std::string hex = box->get<std::string>();
  std::string bytes(hex.size() / 2, '\0');
  if (!from_hex(
          hex, {reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()})) {
    throw Error(ErrorCode::kDataLoss, path.string(), "sent no box");
  }
  return bytes;
}

}  // namespace weft::market
