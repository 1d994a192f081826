// Codecs: a tensor's values to the bytes of a message, and back.
//
// A pipeline (pipeline.h) is put together from stages, each found by name:
//
//   [sparsifier |] [index:INDEX] [value:]VALUE [| BYTES]
//
//   topk(0.01) | index:bloom(eps=1e-3, policy=p2) value:qsgd(7) | zstd
//
// A sparsifier picks entries of a tensor; an index codec writes which, a value
// codec writes what they are (or the whole tensor, without a sparsifier); a
// byte codec shrinks the finished message. A new one is one file in the
// folder of its kind.
//
// Encoders take what a program computed: wrong calls are asserted. Decoders
// take bytes from a network: whatever is wrong with them is an
// Error(kDataLoss) naming the field, found before memory is taken that the
// caller's own sizes do not justify.
//
// Threads: codecs are immutable; the buffers belong to the caller.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/base/option_schema.h"
#include "weft/base/philox.h"
#include "weft/base/refusal.h"
#include "weft/base/registry.h"
#include "weft/comm/codec/bytes.h"

namespace weft {

// Which message this is. Random numbers are functions of it: those that both
// ends must draw alike use shared_random(), which leaves out the sender.
struct MessageId {
  std::uint64_t seed = 0;
  std::uint32_t tensor = 0;  // number of the tensor (or bucket) in the model
  std::uint32_t step = 0;
  std::uint32_t sender = 0;  // rank

  RandomStream shared_random() const { return {seed, tensor, step}; }
  RandomStream private_random() const {
    return {seed ^ (std::uint64_t{sender + 1} * 0x9E3779B97F4A7C15u), tensor,
            step};
  }
};

// Some entries of a tensor of `size` elements, by ascending index.
struct SparseEntries {
  std::uint32_t size = 0;
  std::vector<std::uint32_t> indices;
  std::vector<float> values;
};

// Picks entries. A tensor has fewer than 2^32 elements.
class Sparsifier {
 public:
  virtual ~Sparsifier() = default;
  // Appends the indices picked from `values`, ascending, without repetition.
  // `values` are finite.
  virtual void select(std::span<const float> values, const MessageId& id,
                      std::vector<std::uint32_t>& indices) const = 0;
  // How many select() picks of any tensor of `size` elements; nothing where
  // that depends on the values.
  virtual std::optional<std::uint32_t> count(std::uint32_t /*size*/) const {
    return std::nullopt;
  }
  // True if the indices are a function of (size, shared_random()) alone: they
  // need not be sent, and the values of all ranks can be summed.
  virtual bool is_shared() const { return false; }
  // What select() appends for any tensor of `size` elements, if is_shared().
  virtual void draw(std::uint32_t /*size*/, const MessageId&,
                    std::vector<std::uint32_t>& /*indices*/) const {
    WEFT_CHECK(false, "these indices depend on the values");
  }
  // What the picked values are multiplied by, and whether that makes the
  // mean of what is decoded the tensor: no error feedback then, it would
  // diverge.
  virtual float scale(std::uint32_t /*size*/) const { return 1; }
  virtual bool is_unbiased() const { return false; }
  // See ValueCodec::declines_feedback().
  virtual std::optional<Refusal> declines_feedback() const {
    return std::nullopt;
  }
};

// Writes which entries are sent.
class IndexCodec {
 public:
  virtual ~IndexCodec() = default;
  // `selected` of `size` elements, ascending. Writes them, and leaves in
  // `sent` the indices that the receiver will decode, ascending: `selected`
  // itself, or what a lossy codec makes of it.
  virtual void encode(std::span<const std::uint32_t> selected,
                      std::uint32_t size, const MessageId& id,
                      std::vector<std::uint32_t>& sent,
                      ByteWriter& out) const = 0;
  // The same `sent`: ascending, below `size`, without repetition.
  virtual void decode(ByteReader& in, std::uint32_t size, const MessageId& id,
                      std::vector<std::uint32_t>& sent) const = 0;
  virtual bool is_lossless() const { return true; }
  // The same codec, made for values that take so many bits each; null where
  // these do not matter.
  virtual std::unique_ptr<IndexCodec> for_values(double /*bits*/) const {
    return nullptr;
  }
  // True for indices that do not stand for `selected` in order: the values sent
  // are then those of `selected`, not those at `sent` (only the naive Bloom
  // policy, which shows why).
  virtual bool sends_selected_values() const { return false; }
  // See ValueCodec::declines_feedback().
  virtual std::optional<Refusal> declines_feedback() const {
    return std::nullopt;
  }
};

// Writes values: the entries picked, or a whole tensor.
class ValueCodec {
 public:
  virtual ~ValueCodec() = default;
  // Appends `values` (finite) to `out`. Where `residual` is not empty it
  // receives what the message leaves out, value by value: values - decoded,
  // with the very numbers that the receiver will decode. It may be `values`
  // itself.
  virtual void encode(std::span<const float> values, const MessageId& id,
                      std::span<float> residual, ByteWriter& out) const = 0;
  // The same with error feedback, for a whole tensor: encodes gradient +
  // memory and leaves the residual in `memory`. `largest` is the largest
  // magnitude of the sums, which are finite. Codecs that can do this in fewer
  // passes over memory do; they write the same bytes.
  virtual void encode_with_memory(std::span<const float> gradient,
                                  std::span<float> memory, float largest,
                                  const MessageId& id, ByteWriter& out) const;
  // Fills `values`; takes from `in` exactly what encode() wrote.
  virtual void decode(ByteReader& in, const MessageId& id,
                      std::span<float> values) const = 0;
  // Whether decoded values equal the encoded ones, bit for bit.
  virtual bool is_lossless() const { return false; }
  // Whether the mean of what is decoded is the value: no error feedback
  // needed.
  virtual bool is_unbiased() const { return is_lossless(); }
  // Why messages must not be corrected by later ones; nothing where they may.
  // A loop of corrections, as the pull of a server is one, leaves
  // e' = (e + change) - decoded. It stays bounded where the codec is a
  // contraction,
  //   E |v - decoded|^2 <= c |v|^2 with c < 1,
  // but for a part that does not grow with v; errors are then at most
  // sqrt(c) / (1 - sqrt(c)) times the changes. Random rounding to few levels
  // is right on average and yet leaves out more than it is given.
  virtual std::optional<Refusal> declines_feedback() const {
    return std::nullopt;
  }
  // The dtype in which messages may be summed on their way ("f32", "bf16",
  // "f16"), or "" if they cannot.
  virtual std::string_view summable_as() const { return ""; }
  // What a value takes, roughly, beside what all of a message share.
  virtual double value_bits() const { return 32; }
  // Tensors of fewer elements travel as they are unless a recipe says
  // otherwise: as many as keep the accuracy of training.
  virtual std::int64_t min_elements() const { return 256; }
  // True if it makes sense for a whole tensor (curve fits do not).
  virtual bool is_for_dense() const { return true; }
};

// Shrinks a finished message.
class ByteCodec {
 public:
  virtual ~ByteCodec() = default;
  virtual void encode(std::span<const std::byte> bytes,
                      ByteWriter& out) const = 0;
  // Appends to `bytes`, at most `most` of them.
  virtual void decode(std::span<const std::byte> in, std::size_t most,
                      Bytes& bytes) const = 0;
};

// How a codec is found and made. The first option may be written without its
// name: qsgd(7) is qsgd(bits=7).
template <class Codec>
struct CodecDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;
  // `options` are complete, and what they may be.
  std::unique_ptr<Codec> (*make)(const Options& options) = nullptr;
  // How [sync] codec = "auto" would call it: by what training with error
  // feedback keeps its accuracy. Empty: it is never chosen.
  std::string candidate = {};
};

using SparsifierRegistry = Registry<CodecDef<Sparsifier>>;
using IndexCodecRegistry = Registry<CodecDef<IndexCodec>>;
using ValueCodecRegistry = Registry<CodecDef<ValueCodec>>;
using ByteCodecRegistry = Registry<CodecDef<ByteCodec>>;

// It is filled from the files of codec/sparsifiers, index, value and bytes.
const SparsifierRegistry& sparsifier_registry();
const IndexCodecRegistry& index_codec_registry();
const ValueCodecRegistry& value_codec_registry();
const ByteCodecRegistry& byte_codec_registry();

}  // namespace weft
