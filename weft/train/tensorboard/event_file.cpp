#include "weft/train/tensorboard/event_file.h"

#include <array>
#include <chrono>
#include <unistd.h>

#include "weft/base/error.h"
#include "weft/base/file.h"

namespace weft {
namespace {

// Fields of Event.
constexpr int kWallTime = 1;
constexpr int kStep = 2;
constexpr int kFileVersion = 3;
constexpr int kGraph = 4;
constexpr int kSummary = 5;
constexpr int kSessionLog = 7;
// Fields of SessionLog, and the status of one that begins.
constexpr int kStatus = 1;
constexpr int kStart = 1;

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc & 1 ? crc >> 1 ^ 0x82F63B78u : crc >> 1;
    }
    table[i] = crc;
  }
  return table;
}

// Files hold checksums turned around, so that a record within a record does not
// pass for one.
std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

template <class T>
std::string little_endian(T value) {
  std::string bytes(sizeof value, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(value >> (8 * i) & 0xff);
  }
  return bytes;
}

double now() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = crc_table();
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const char byte : bytes) {
    crc = kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff] ^ crc >> 8;
  }
  return ~crc;
}

EventFile::EventFile(const std::filesystem::path& folder,
                     std::int64_t first_step) {
  create_folders(folder);
  // TensorBoard tells such files by this word, and their order by the time.
  const auto path =
      folder / fmt::format("events.out.tfevents.{:010}.{}.weft",
                           static_cast<std::int64_t>(now()), getpid());
  file_.open(path, std::ios::binary);
  WireWriter first;
  first.real64(kWallTime, now());
  first.bytes(kFileVersion, "brain.Event:2");
  add_event(first);
  WireWriter start;
  start.integer(kStatus, kStart);
  WireWriter session;
  session.real64(kWallTime, now());
  session.integer(kStep, first_step);
  session.message(kSessionLog, start);
  add_event(session);
  if (!file_.flush()) {
    throw Error(ErrorCode::kUnavailable, path.string(), "cannot be written");
  }
}

void EventFile::add_summary(std::int64_t step, const WireWriter& summary) {
  WireWriter event;
  event.real64(kWallTime, now());
  event.integer(kStep, step);
  event.message(kSummary, summary);
  add_event(event);
}

void EventFile::add_graph(std::string_view graph) {
  WireWriter event;
  event.real64(kWallTime, now());
  event.bytes(kGraph, graph);
  add_event(event);
}

void EventFile::add_event(const WireWriter& event) {
  const std::string& data = event.written();
  const std::string length =
      little_endian(static_cast<std::uint64_t>(data.size()));
  file_ << length << little_endian(masked_crc(length)) << data
        << little_endian(masked_crc(data));
}

}  // namespace weft
