// A file of events, as TensorBoard reads it: records with checksums, each an
// Event message of protocol buffers.
//
// Threads: caller synchronises.
// Source:  TensorFlow, "TFRecord" and event.proto: per record the length and
// the
//          data, each followed by its masked CRC-32C.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "weft/base/wire_writer.h"

namespace weft {

// The checksum of Castagnoli's polynomial, reflected, as iSCSI has it.
std::uint32_t crc32c(std::string_view bytes);

class EventFile {
 public:
  // Begins a file of its own in `folder`, which TensorBoard shows as one run:
  // what earlier files tell of steps from `first_step` on is void. Throws
  // Error(kUnavailable) for a file that cannot be written.
  EventFile(const std::filesystem::path& folder, std::int64_t first_step);

  // What is shown of step `step`, a Summary message. What cannot be written is
  // left out: a full disk ends a run where its checkpoints are written.
  void add_summary(std::int64_t step, const WireWriter& summary);
  // A GraphDef message.
  void add_graph(std::string_view graph);
  void flush() { file_.flush(); }

 private:
  void add_event(const WireWriter& event);

  std::ofstream file_;
};

}  // namespace weft
