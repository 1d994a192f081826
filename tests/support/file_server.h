// A server of one file over HTTP/1.1, on a port of its own of this machine,
// which can be told to fail.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace weft::test {

class FileServer {
 public:
  explicit FileServer(std::string content);
  ~FileServer();
  FileServer(const FileServer&) = delete;
  FileServer& operator=(const FileServer&) = delete;

  std::string url() const;
  // The connection ends behind so many bytes of the file, however many it
  // promised.
  void cut_off_after(std::size_t bytes) { most_ = bytes; }
  // Whether it sends a part of the file where it is asked for one.
  void has_ranges(bool has) { has_ranges_ = has; }
  // From which byte on each request wanted the file.
  std::vector<std::size_t> asked_from() const;

 private:
  void serve();
  void answer(int connection);

  std::string content_;
  std::atomic<std::size_t> most_;
  std::atomic<bool> has_ranges_ = true;
  mutable std::mutex mutex_;
  std::vector<std::size_t> asked_from_;
  int door_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace weft::test
