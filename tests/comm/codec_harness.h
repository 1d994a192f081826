// Running single codecs as a pipeline would.
#pragma once

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/permutation.h"
#include "weft/comm/codec/codec.h"

namespace weft::test {

inline std::unique_ptr<IndexCodec> index_codec(const std::string& name,
                                               const Options& given = {}) {
  const auto& def = index_codec_registry().get(name);
  return def.make(complete(def.options, given, name));
}

inline std::unique_ptr<ValueCodec> value_codec(const std::string& name,
                                               const Options& given = {}) {
  const auto& def = value_codec_registry().get(name);
  return def.make(complete(def.options, given, name));
}

// `count` of `size` indices, ascending, another choice for each `seed`.
inline std::vector<std::uint32_t> random_support(std::uint32_t size,
                                                 std::uint32_t count,
                                                 std::uint64_t seed) {
  const Permutation permutation(size, seed, 0, 0);
  std::vector<std::uint32_t> indices;
  for (std::uint32_t i = 0; i < count; ++i) {
    indices.push_back(static_cast<std::uint32_t>(permutation(i)));
  }
  std::sort(indices.begin(), indices.end());
  return indices;
}

// Normal values with heavy tails, as gradients have them.
inline std::vector<float> random_values(std::size_t count, std::uint64_t seed) {
  const RandomStream random{seed, 7, 0};
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    const float z = normal_from(random.word(2 * i), random.word(2 * i + 1))[0];
    values.push_back(0.01f * z * std::abs(z));
  }
  return values;
}

struct EncodedIndices {
  Bytes bytes;
  std::vector<std::uint32_t> sent;
};

inline EncodedIndices encode(const IndexCodec& codec,
                             const std::vector<std::uint32_t>& selected,
                             std::uint32_t size, const MessageId& id = {}) {
  EncodedIndices result;
  ByteWriter out(result.bytes);
  codec.encode(selected, size, id, result.sent, out);
  return result;
}

// Also requires that nothing is left over.
inline std::vector<std::uint32_t> decode(const IndexCodec& codec,
                                         const Bytes& bytes, std::uint32_t size,
                                         const MessageId& id = {}) {
  ByteReader in(bytes, "message");
  std::vector<std::uint32_t> sent;
  codec.decode(in, size, id, sent);
  in.expect_end();
  return sent;
}

struct EncodedValues {
  Bytes bytes;
  std::vector<float> residual;
};

inline EncodedValues encode(const ValueCodec& codec,
                            const std::vector<float>& values,
                            const MessageId& id = {}) {
  EncodedValues result;
  result.residual = values;
  ByteWriter out(result.bytes);
  // The residual may be the values themselves.
  codec.encode(result.residual, id, result.residual, out);
  return result;
}

inline std::vector<float> decode(const ValueCodec& codec, const Bytes& bytes,
                                 std::size_t count, const MessageId& id = {}) {
  ByteReader in(bytes, "message");
  std::vector<float> values(count);
  codec.decode(in, id, values);
  in.expect_end();
  return values;
}

// What is decoded, having checked that the residual is what it leaves out.
inline std::vector<float> round_trip(const ValueCodec& codec,
                                     const std::vector<float>& values) {
  const auto message = encode(codec, values);
  const auto decoded = decode(codec, message.bytes, values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(message.residual[i], values[i] - decoded[i]) << i;
  }
  return decoded;
}

}  // namespace weft::test
