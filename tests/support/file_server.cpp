#include "tests/support/file_server.h"

#include <arpa/inet.h>
#include <cstdlib>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "weft/base/error.h"

namespace weft::test {
namespace {

// Sends all of it, or as much as the other side takes.
void send_all(int connection, std::string_view text) {
  while (!text.empty()) {
    const auto sent =
        ::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string receive_request(int connection) {
  std::string request;
  char buffer[1024];
  while (request.find("\r\n\r\n") == request.npos) {
    const auto count = ::recv(connection, buffer, sizeof buffer, 0);
    if (count <= 0) break;
    request.append(buffer, static_cast<std::size_t>(count));
  }
  return request;
}

}  // namespace

FileServer::FileServer(std::string content)
    : content_(std::move(content)),
      most_(content_.size()),
      door_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  WEFT_CHECK(::bind(door_, any, size) == 0 && ::listen(door_, 8) == 0 &&
             ::getsockname(door_, any, &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

FileServer::~FileServer() {
  // accept() returns when nobody can come any more.
  ::shutdown(door_, SHUT_RDWR);
  thread_.join();
  ::close(door_);
}

std::string FileServer::url() const {
  return fmt::format("http://127.0.0.1:{}/file", port_);
}

std::vector<std::size_t> FileServer::asked_from() const {
  const std::lock_guard lock(mutex_);
  return asked_from_;
}

void FileServer::serve() {
  while (true) {
    const int connection = ::accept4(door_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) return;
    answer(connection);
    ::close(connection);
  }
}

void FileServer::answer(int connection) {
  const std::string request = receive_request(connection);
  const std::string mark = "Range: bytes=";
  const std::size_t at = request.find(mark);
  const bool is_part = at != request.npos && has_ranges_;
  const std::size_t begin =
      at == request.npos
          ? 0
          : std::strtoull(request.c_str() + at + mark.size(), nullptr, 10);
  {
    const std::lock_guard lock(mutex_);
    asked_from_.push_back(begin);
  }
  const std::size_t from = is_part ? begin : 0;
  std::string head =
      is_part ? "HTTP/1.1 206 Partial Content\r\n" : "HTTP/1.1 200 OK\r\n";
  if (is_part) {
    head += fmt::format("Content-Range: bytes {}-{}/{}\r\n", from,
                        content_.size() - 1, content_.size());
  }
  send_all(connection,
           head + fmt::format("Content-Length: {}\r\nConnection: close\r\n\r\n",
                              content_.size() - from));
  const std::size_t end = std::min(content_.size(), most_.load());
  if (from < end) {
    send_all(connection, std::string_view(content_).substr(from, end - from));
  }
}

}  // namespace weft::test
