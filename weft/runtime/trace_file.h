// Profiles as files that Perfetto (ui.perfetto.dev) and chrome://tracing show:
// threads below each other, messages and memory beside them.
//
// Threads: caller synchronises.
// Cost:    a line of text for an event; what events of a kind have in common
//          becomes text once.
// Source:  Google, "Trace Event Format", JSON array format. Its closing bracket
//          may be missing, so that the trace of a run that was killed can be
//          read too.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "weft/base/profile.h"

namespace weft {

// Writes events as they come.
class TraceWriter {
 public:
  // Throws Error(kUnavailable) for a file that cannot be written.
  explicit TraceWriter(const std::filesystem::path& path);
  // Closes the list, so that the file is JSON as a whole.
  ~TraceWriter() { close(); }
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // What cannot be written is left out: a full disk must not end what is being
  // watched.
  void write(std::span<const ProfileEvent> events);
  void flush() { file_.flush(); }
  // Ends the file; nothing is written after it. Whether all is in it.
  bool close();

 private:
  // As JSON: the members `name` and `cat`, and those of `args`, which end
  // with a comma where there are any.
  struct KindText {
    std::string head, arguments;
  };

  void write(const ProfileEvent& event);
  void name(int thread);
  const KindText& kind_text(const SpanKindRef& kind);
  // Begins another object of the list.
  void begin_line();

  std::ofstream file_;
  std::string text_;  // what is not in the file yet
  bool is_empty_ = true;
  std::set<int> named_;  // threads
  std::map<SpanKindRef, KindText> kinds_;
  std::int64_t messages_ = 0;
};

// Throws Error(kUnavailable) for what cannot be written as a whole.
void write_trace(const std::filesystem::path& path,
                 std::span<const ProfileEvent> events);

// Reads what was written, also of a run that was killed. Throws as read_text(),
// and Error(kDataLoss) for what is no such file.
std::vector<ProfileEvent> read_trace(const std::filesystem::path& path);
std::vector<ProfileEvent> parse_trace(std::string text, std::string_view where);

}  // namespace weft
