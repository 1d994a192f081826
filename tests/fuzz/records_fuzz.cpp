// The records of a stream, so many at a time: what they are must not depend on
// how they are asked for.
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#include "weft/base/error.h"
#include "weft/data/record_stream.h"

namespace weft::fuzz {

// A file in memory that holds `text`.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text)
      : file_(::memfd_create("records", MFD_CLOEXEC)) {
    WEFT_CHECK(file_ >= 0 && ::write(file_, text.data(), text.size()) ==
                                 static_cast<ssize_t>(text.size()));
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

}  // namespace weft::fuzz

// The first byte says how many records are asked for at a time.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size == 0) return 0;
  return weft::fuzz::refuse_or_accept([&] {
    const std::size_t most = 1 + data[0] % 5;
    const std::string_view text = weft::fuzz::text_of(data + 1, size - 1);
    const weft::fuzz::MemoryFile file(text);
    weft::RecordStream stream(file.path());
    std::string all;
    for (std::string part = stream.next(most); !part.empty();
         part = stream.next(most)) {
      all += part;
    }
    WEFT_CHECK(all == text, "records were lost, or came twice");
  });
}
