#include "weft/train/sync/worker_group.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <unistd.h>

#include "weft/base/checksum.h"
#include "weft/base/file.h"
#include "weft/base/libraries/blake2b.h"
#include "weft/base/libraries/sha256.h"
#include "weft/comm/collective/rooted.h"
#include "weft/train/sync/gather.h"

namespace weft {
namespace {

// So many items of a difference are told.
constexpr std::size_t kMostTold = 8;
// A file travels in messages of this size, far below the 31 bits in which MPI
// counts bytes.
constexpr std::size_t kFilePiece = std::size_t{64} << 20;

std::string digest_of_text(std::string_view text) {
  return blake2b(
      {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

// Items as text and back: no name or value holds these.
constexpr char kBehindName = '\x1f';
constexpr char kBehindValue = '\x1e';

std::string to_text(const std::vector<AgreedItem>& items) {
  std::string text;
  for (const AgreedItem& item : items) {
    text += item.name + kBehindName + item.value + kBehindValue;
  }
  return text;
}

std::vector<AgreedItem> items_in(std::string_view text) {
  std::vector<AgreedItem> items;
  while (!text.empty()) {
    const auto name = text.find(kBehindName);
    const auto value = text.find(kBehindValue);
    // A text from another version may end in the middle; what is whole is
    // compared.
    if (name >= value || value == text.npos) break;
    items.push_back({std::string(text.substr(0, name)),
                     std::string(text.substr(name + 1, value - name - 1))});
    text.remove_prefix(value + 1);
  }
  return items;
}

const std::string* value_of(const std::vector<AgreedItem>& items,
                            const std::string& name) {
  const auto found = std::ranges::find(items, name, &AgreedItem::name);
  return found == items.end() ? nullptr : &found->value;
}

// What differs between the items of two ranks: "seed: rank 0 has 1, …".
std::vector<std::string> differences(const std::vector<AgreedItem>& first,
                                     const std::vector<AgreedItem>& other,
                                     int rank) {
  std::vector<std::string> lines;
  const auto text = [](const std::string* value) {
    return value == nullptr ? "none" : *value;
  };
  const auto compare = [&](const std::string& name) {
    const std::string* left = value_of(first, name);
    const std::string* right = value_of(other, name);
    if (left != nullptr && right != nullptr && *left == *right) return;
    lines.push_back(fmt::format("{}: rank 0 has {}, rank {} has {}", name,
                                text(left), rank, text(right)));
  };
  for (const AgreedItem& item : first) compare(item.name);
  for (const AgreedItem& item : other) {
    if (value_of(first, item.name) == nullptr) compare(item.name);
  }
  return lines;
}

// Sends `bytes` from rank 0 to each of `ranks`, which have room for them.
Task<> give(Channel channel, std::vector<int> ranks,
            std::span<std::byte> bytes) {
  for (std::size_t begin = 0; begin < bytes.size(); begin += kFilePiece) {
    const auto piece =
        bytes.subspan(begin, std::min(kFilePiece, bytes.size() - begin));
    Transfers transfers(channel);
    for (const int rank : ranks) {
      if (channel.rank() == 0) transfers.send(rank, piece);
      if (channel.rank() == rank) transfers.receive(0, piece);
    }
    co_await transfers.all();
  }
}

// A file without a name: it lives as long as it is open.
CheckpointFile open_unnamed(std::span<const std::byte> bytes, int rank) {
  const auto path =
      std::filesystem::temp_directory_path() /
      // Ranks of one host may share a folder, and those of a test a process.
      fmt::format("weft-checkpoint-{}-{}.safetensors", getpid(), rank);
  write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  // The map keeps the bytes when the name is gone, and no path out of here
  // leaves the file behind.
  struct Remover {
    const std::filesystem::path& path;
    ~Remover() {
      std::error_code ignored;
      std::filesystem::remove(path, ignored);
    }
  } remover{path};
  return CheckpointFile(path);
}

}  // namespace

std::string checksum_of(const Tensor& tensor) {
  return fmt::format("{:016x}",
                     checksum({static_cast<const std::uint8_t*>(tensor.raw()),
                               tensor.bytes()}));
}

WorkerGroup::WorkerGroup(Transport& transport, double timeout)
    : transport_(transport),
      communicator_(transport),
      network_(transport.start_engine({.timeout = timeout})) {}

void WorkerGroup::run(std::function<Task<>()> make) {
  network_->wait(network_->submit(std::move(make)));
}

std::vector<std::string> WorkerGroup::gather(const std::string& what,
                                             const std::string& text) {
  std::vector<std::string> texts;
  run([&] {
    return gather_texts(communicator_.open({"gather", what}), text, texts);
  });
  return texts;
}

std::vector<int> WorkerGroup::others(const std::string& what,
                                     const std::string& text, bool has_say) {
  // Digests first: texts may be long, and travel only where they differ. Mostly
  // none does, and then it takes no messages from each to each to say so.
  std::string own = digest_of_text(text);
  std::string first = own;
  std::vector<double> others{0};
  run([&] {
    return broadcast(
        RootedMethod::kTree,
        communicator_.open({"broadcast", "digest of " + what}),
        {DType::kU8, std::as_writable_bytes(std::span(first)).data(),
         first.size()},
        0);
  });
  if (!has_say) own = first;
  others[0] = first == own ? 0 : 1;
  run([&] {
    return sum_over_workers(
        communicator_.open({"sum", "others than the first in " + what}),
        others);
  });
  if (others[0] == 0) return {};
  const auto digests = gather("digests of " + what, own);
  std::vector<int> result;
  for (std::size_t rank = 1; rank < digests.size(); ++rank) {
    if (digests[rank] != digests[0]) result.push_back(static_cast<int>(rank));
  }
  return result;
}

void WorkerGroup::agree(const std::string& what,
                        const std::vector<AgreedItem>& items,
                        const std::string& hint, bool has_say) {
  const std::string text = to_text(items);
  const std::vector<int> ranks = others(what, text, has_say);
  if (ranks.empty()) return;
  // All ranks compare the same digests, so all of them come here, and all
  // throw.
  const auto texts = gather(what, text);
  const auto first = items_in(texts[0]);
  Error error(ErrorCode::kInvalidArgument, what,
              "rank{} {} and rank 0 do not train the same",
              ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
  std::size_t told = 0;
  std::size_t untold = 0;
  for (const int rank : ranks) {
    for (std::string& line : differences(
             first, items_in(texts[static_cast<std::size_t>(rank)]), rank)) {
      if (told++ < kMostTold) {
        error.detail(std::move(line));
      } else {
        ++untold;
      }
    }
  }
  if (untold > 0) error.detail(fmt::format("and {} more", untold));
  throw std::move(error.hint(hint));
}

std::optional<CheckpointFile> WorkerGroup::share_checkpoint(
    const std::optional<std::filesystem::path>& own, std::vector<int>& given) {
  constexpr const char* kNone = "none";
  std::string state = kNone;
  if (own) {
    // The size travels along, so that whoever is given the file knows how much
    // room it takes.
    state = fmt::format("{} {}", sha256_of_file(*own),
                        std::filesystem::file_size(*own));
  }
  const auto states = gather("checkpoints", state);
  given.clear();
  // The checkpoint of the first worker counts, as it is the one that saves;
  // those that lack it, or have another, are given it.
  if (states[0] == kNone) return std::nullopt;
  for (std::size_t rank = 1; rank < states.size(); ++rank) {
    if (states[rank] != states[0]) given.push_back(static_cast<int>(rank));
  }
  const bool is_given = std::ranges::count(given, rank()) > 0;
  std::vector<std::byte> bytes;
  if (is_given) {
    bytes.resize(std::stoull(states[0].substr(states[0].find(' ') + 1)));
  } else if (is_first() && !given.empty()) {
    const MappedFile file(*own);
    const auto whole = std::as_bytes(file.bytes());
    // The file is copied, since give() takes bytes that it may write.
    bytes.assign(whole.begin(), whole.end());
  }
  // All ranks enter the operation, those too that are not given the file.
  run([&] {
    return give(communicator_.open({"give", "checkpoint"}), given, bytes);
  });
  return is_given ? open_unnamed(bytes, rank()) : CheckpointFile(*own);
}

}  // namespace weft
