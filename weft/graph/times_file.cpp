#include "weft/graph/times_file.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "weft/base/cache.h"
#include "weft/base/cpu.h"
#include "weft/base/file.h"
#include "weft/base/version.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// Lets one process at a time read and replace the file.
class FileLock {
 public:
  explicit FileLock(const fs::path& beside)
      : descriptor_(::open((beside.string() + ".lock").c_str(),
                           // The lock is a file of its own, since the file of
                           // times is replaced and a lock on it would be lost.
                           O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0 || ::flock(descriptor_, LOCK_EX) != 0) {
      const int reason = errno;
      if (descriptor_ >= 0) ::close(descriptor_);
      throw Error(ErrorCode::kUnavailable, "measured times", "{}: {}",
                  beside.string(), std::strerror(reason));
    }
  }
  // To close the file gives up the lock, also where the process is killed.
  ~FileLock() { ::close(descriptor_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

// Cuts what stands before `separator` off `text`; the last part is all of it.
std::string_view next_part(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? "" : text.substr(end + 1);
  return part;
}

// "name=12.5", in microseconds.
std::optional<KernelTime> parse_time(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  double microseconds = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] =
      std::from_chars(text.data() + equals + 1, last, microseconds);
  // A time that is no number, or none that can be, was not written here.
  if (error != std::errc() || end != last || !(microseconds > 0) ||
      microseconds > 1e12) {
    return std::nullopt;
  }
  return KernelTime{std::string(text.substr(0, equals)), microseconds * 1e-6};
}

}  // namespace

TimesFile::TimesFile(fs::path file, std::string machine,
                     std::size_t least_times, std::size_t most_entries)
    : file_(std::move(file)),
      machine_(std::move(machine)),
      least_times_(least_times),
      most_entries_(most_entries) {
  read();
}

void TimesFile::read() {
  std::string text;
  try {
    if (!fs::exists(file_)) return;
    text = read_text(file_);
    // Without known times, kernels are measured anew: a run must not fail for a
    // cache.
  } catch (const std::exception& error) {
    complaint_ = error.what();
    return;
  }
  std::string_view rest = text;
  // Times of another processor or library would choose slow kernels without a
  // word.
  if (next_part(rest, '\n') != machine_) {
    complaint_ = fmt::format("{} is of another machine or version, and ignored",
                             file_.string());
    return;
  }
  damaged_ = 0;
  while (!rest.empty()) read_line(next_part(rest, '\n'));
  if (damaged_ > 0) {
    complaint_ = fmt::format("{}: {} damaged lines are ignored", file_.string(),
                             damaged_);
  }
}

void TimesFile::read_line(std::string_view line) {
  std::string call(next_part(line, '\t'));
  std::vector<KernelTime> times;
  bool is_whole = !call.empty();
  while (!line.empty()) {
    auto time = parse_time(next_part(line, '\t'));
    is_whole = is_whole && time;
    if (time) times.push_back(*std::move(time));
  }
  if (!is_whole || times.size() < least_times_) {
    ++damaged_;
  } else if (!is_full()) {
    entries_[std::move(call)] = std::move(times);
  }
}

const std::vector<KernelTime>* TimesFile::find(
    const std::string& call, const std::vector<std::string>& names) const {
  const auto found = entries_.find(call);
  if (found == entries_.end()) return nullptr;
  // Another set of candidates was measured by another program.
  return std::ranges::equal(found->second, names, {}, &KernelTime::name)
             ? &found->second
             : nullptr;
}

std::vector<KernelTime> TimesFile::add(const std::string& call,
                                       std::vector<KernelTime> times) {
  const FileLock lock(file_);
  // Another process may have measured in the meantime. What it has found
  // counts, so that all choose alike.
  read();
  std::vector<std::string> names;
  for (const KernelTime& time : times) names.push_back(time.name);
  if (const auto* known = find(call, names)) return *known;
  entries_[call] = times;
  write();
  return times;
}

void TimesFile::add_all(const Entries& entries) {
  const FileLock lock(file_);
  read();
  for (const auto& [call, times] : entries) {
    if (is_full()) break;
    entries_.try_emplace(call, times);
  }
  write();
}

void TimesFile::make_sure_it_can_be_written() {
  create_folders(file_.parent_path());
  const FileLock lock(file_);
  if (!fs::exists(file_)) write();
}

void TimesFile::write() const {
  std::string text = machine_ + "\n";
  for (const auto& [call, times] : entries_) {
    text += call;
    for (const KernelTime& time : times) {
      text += fmt::format("\t{}={:.2f}", time.name, time.seconds * 1e6);
    }
    text += '\n';
  }
  write_file(file_, text);
}

TimesFile times_of_machine(std::string_view what, std::size_t least_times,
                           std::size_t most_entries) {
  const std::string machine =
      fmt::format("{}, {}, weft {}, {}", cpu_signature(),
                  to_string(instruction_set()), kVersion, kernel_libraries());
  // Its name tells people what it is of; the first line tells programs.
  std::string name = fmt::format("{}s-", what);
  for (const char c : machine) {
    const bool is_plain =
        std::isalnum(static_cast<unsigned char>(c)) || c == '.';
    if (is_plain) {
      name += c;
    } else if (name.back() != '-') {
      name += '-';
    }
  }
  const fs::path folder = cache_folder();
  return {folder.empty() ? fs::path() : folder / (name + ".txt"),
          fmt::format("weft {} times 1, microseconds: {}", what, machine),
          least_times, most_entries};
}

}  // namespace weft
