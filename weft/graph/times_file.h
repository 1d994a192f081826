// Measured times in a file that processes share: one line of text for a call.
//
// Threads: caller synchronises; processes lock the file.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/kernel.h"

namespace weft {

class TimesFile {
 public:
  using Entries = std::map<std::string, std::vector<KernelTime>>;

  // Reads `file`, if it is there. `machine` is its first line: a file with
  // another one is of another machine. A line has `least_times`, one at least;
  // of more lines than `most_entries` the first are kept. Throws nothing: what
  // is damaged or foreign is not read, and complaint() says so.
  TimesFile(std::filesystem::path file, std::string machine,
            std::size_t least_times, std::size_t most_entries);

  // Times of exactly these candidates, or null.
  const std::vector<KernelTime>* find(
      const std::string& call, const std::vector<std::string>& names) const;
  // Keeps the times, unless the file has some by now, and returns those that it
  // has. Throws Error(kUnavailable) where it cannot be written.
  std::vector<KernelTime> add(const std::string& call,
                              std::vector<KernelTime> times);
  // The same for many, of which those that the file has stay as they are.
  // Throws as add() does.
  void add_all(const Entries& entries);
  // Creates folder and file. Throws as add() does.
  void make_sure_it_can_be_written();

  bool is_full() const { return entries_.size() >= most_entries_; }
  std::size_t size() const { return entries_.size(); }
  const std::filesystem::path& file() const { return file_; }
  const std::string& complaint() const { return complaint_; }

 private:
  void read();
  void read_line(std::string_view line);
  void write() const;

  std::filesystem::path file_;
  std::string machine_;
  std::string complaint_;
  std::size_t least_times_;
  std::size_t most_entries_;
  std::size_t damaged_ = 0;  // lines
  Entries entries_;
};

// The file of this machine, instruction set and version in cache_folder(), as
// it is now. `what` was measured: "kernel".
TimesFile times_of_machine(std::string_view what, std::size_t least_times,
                           std::size_t most_entries);

}  // namespace weft
