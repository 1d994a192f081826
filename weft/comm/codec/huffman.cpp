#include "weft/comm/codec/huffman.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace weft {
namespace {

using Lengths = HuffmanCode::Lengths;
constexpr int kLengthBits = 5;

using Counts = std::array<std::uint64_t, HuffmanCode::kSymbols>;

// The depths of the leaves of Huffman's tree; may exceed kMaxLength.
std::vector<int> tree_depths(const std::vector<std::uint64_t>& weights) {
  // Leaves come first, then inner nodes in the order of their making, so
  // that every parent lies behind its children.
  const std::size_t leaves = weights.size();
  std::vector<std::size_t> parent(2 * leaves - 1);
  // Pairs compare by weight and then by number, so that all machines build the
  // same tree.
  using Node = std::pair<std::uint64_t, std::size_t>;  // weight, number
  std::priority_queue<Node, std::vector<Node>, std::greater<>> open;
  for (std::size_t i = 0; i < leaves; ++i) open.emplace(weights[i], i);
  for (std::size_t next = leaves; next < parent.size(); ++next) {
    const Node a = open.top();
    open.pop();
    const Node b = open.top();
    open.pop();
    parent[a.second] = next;
    parent[b.second] = next;
    open.emplace(a.first + b.first, next);
  }
  std::vector<int> depth(parent.size());
  for (std::size_t i = parent.size() - 1; i-- > 0;) {
    depth[i] = depth[parent[i]] + 1;
  }
  depth.resize(leaves);
  return depth;
}

}  // namespace

Lengths HuffmanCode::best_lengths(Counts counts) {
  Lengths lengths{};
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < kSymbols; ++i) {
    if (counts[i] > 0) used.push_back(i);
  }
  if (used.empty()) return lengths;
  if (used.size() == 1) {
    // A tree of one leaf has no depth, but each symbol must take a bit.
    lengths[used[0]] = 1;
    return lengths;
  }
  for (;;) {
    std::vector<std::uint64_t> weights;
    for (const std::size_t symbol : used) weights.push_back(counts[symbol]);
    const auto depths = tree_depths(weights);
    if (*std::max_element(depths.begin(), depths.end()) <= kMaxLength) {
      for (std::size_t i = 0; i < used.size(); ++i) {
        lengths[used[i]] = static_cast<std::uint8_t>(depths[i]);
      }
      return lengths;
    }
    for (const std::size_t symbol : used) {
      // Halved, the weights come closer to each other and the tree gets
      // flatter. Equal weights, to which this leads, have codes of 8
      // bits at most.
      counts[symbol] = (counts[symbol] + 1) / 2;
    }
  }
}

bool HuffmanCode::is_valid(const Lengths& lengths) {
  std::uint64_t taken = 0;  // of the codes of kMaxLength bits
  for (const int length : lengths) {
    if (length > kMaxLength) return false;
    if (length > 0) taken += std::uint64_t{1} << (kMaxLength - length);
  }
  // Kraft's inequality: codes of these lengths exist of which none begins
  // another.
  return taken > 0 && taken <= std::uint64_t{1} << kMaxLength;
}

HuffmanCode::HuffmanCode(const Lengths& lengths) : lengths_(lengths) {
  WEFT_CHECK(is_valid(lengths));
  for (const std::uint8_t length : lengths_) {
    if (length > 0) ++count_[length];
  }
  // The code is canonical: codes of a length follow each other in the order of
  // symbols, and so the lengths are all that travels.
  for (std::size_t i = 1; i < count_.size(); ++i) {
    first_[i] = (first_[i - 1] + count_[i - 1]) << 1;
    offset_[i] = offset_[i - 1] + count_[i - 1];
  }
  symbols_.resize(offset_.back() + count_.back());
  auto next = first_;
  for (std::size_t symbol = 0; symbol < kSymbols; ++symbol) {
    const std::uint8_t length = lengths_[symbol];
    if (length == 0) continue;
    const std::uint32_t code = next[length]++;
    // BitWriter begins with the lowest bit, and codes are told apart by their
    // highest.
    codes_[symbol] = reversed(code, length);
    symbols_[offset_[length] + code - first_[length]] =
        static_cast<std::uint8_t>(symbol);
  }
}

std::uint8_t HuffmanCode::read(BitReader& in) const {
  std::uint32_t code = 0;
  for (std::size_t length = 1; length <= kMaxLength; ++length) {
    code = code << 1 | in.get(1);
    const std::uint32_t number = code - first_[length];
    if (code >= first_[length] && number < count_[length]) {
      return symbols_[offset_[length] + number];
    }
  }
  throw in.damaged("has bits that are no code");
}

void write_huffman(std::span<const std::uint8_t> bytes, ByteWriter& out) {
  if (bytes.empty()) return;
  Counts counts{};
  for (const std::uint8_t byte : bytes) ++counts[byte];
  const HuffmanCode code(HuffmanCode::best_lengths(counts));
  const std::uint8_t highest = *std::max_element(bytes.begin(), bytes.end());
  out.write(highest);
  BitWriter lengths(out);
  std::uint64_t bits = 0;
  for (std::size_t symbol = 0; symbol <= highest; ++symbol) {
    const int length = code.length(static_cast<std::uint8_t>(symbol));
    lengths.put(static_cast<std::uint32_t>(length), kLengthBits);
    bits += counts[symbol] * static_cast<std::uint64_t>(length);
  }
  lengths.finish();
  // The reader takes the codes as one field, whose length it must know.
  out.write_varint((bits + 7) / 8);
  BitWriter codes(out);
  for (const std::uint8_t byte : bytes) code.write(byte, codes);
  codes.finish();
}

void read_huffman(ByteReader& in, std::string_view field,
                  std::span<std::uint8_t> bytes) {
  if (bytes.empty()) return;
  const std::size_t symbols = in.read<std::uint8_t>(field) + std::size_t{1};
  BitReader table(
      in, static_cast<std::size_t>(packed_bytes(symbols, kLengthBits)), field);
  Lengths lengths{};
  for (std::size_t symbol = 0; symbol < symbols; ++symbol) {
    lengths[symbol] = static_cast<std::uint8_t>(table.get(kLengthBits));
  }
  table.finish();
  if (!HuffmanCode::is_valid(lengths)) {
    throw in.damaged(field, "has lengths of no code");
  }
  const HuffmanCode code(lengths);
  BitReader codes(in, static_cast<std::size_t>(in.read_varint(field)), field);
  for (std::uint8_t& byte : bytes) byte = code.read(codes);
  codes.finish();
}

}  // namespace weft
