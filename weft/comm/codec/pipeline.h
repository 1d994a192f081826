// A codec put together from stages, from its text form (see codec.h).
//
//   const Pipeline pipeline("topk(0.01) | index:bloom value:qsgd(7)");
//   pipeline.encode(gradient, memory, id, message);   // sender
//   pipeline.decode(message.bytes, id, values);       // receiver
//
// Error feedback (Seide et al., 2014; Stich et al., 2018): the caller keeps,
// per tensor, a memory of what was not sent. Each encode adds the gradient to
// it, sends what the stages make of the sum, and leaves the rest.
//
// A message is self-describing: format version, number of elements, a
// fingerprint of the text form; a message of another pipeline is refused.
// Tensors of fewer than `min_elements` travel as plain f32.
//
// Threads: immutable; the buffers belong to the caller.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "weft/comm/codec/codec.h"

namespace weft {

struct PipelineOptions {
  std::int64_t min_elements = 256;  // smaller tensors bypass the stages
};

struct Message {
  Bytes bytes;
  // What the receiver decodes, when a sparsifier is in the pipeline and the
  // tensor did not bypass it.
  SparseEntries sent;

  // Working space, kept from one message to the next.
  struct {
    std::vector<std::uint32_t> selected;
    std::vector<float> values;
    Bytes stages;
  } scratch;
};

class Pipeline {
 public:
  // Throws Error(kInvalidArgument) for bad syntax (with a caret under it), an
  // unknown stage or option (with the nearest name), or stages that do not go
  // together (with the reason and the nearest pipeline that works).
  explicit Pipeline(std::string_view text, const PipelineOptions& options = {});
  ~Pipeline();
  Pipeline(Pipeline&&) noexcept;

  // The canonical text: every option written out.
  const std::string& text() const;

  // Encodes gradient + memory and leaves in `memory` what the message does
  // not carry; without `memory` (empty) encodes `gradient` alone. Reuses the
  // buffers of `message`.
  // Throws Error(kNumeric), with the index, for a value that is not finite;
  // `memory` is then as it was.
  void encode(std::span<const float> gradient, std::span<float> memory,
              const MessageId& id, Message& message) const;
  // The same of values alone, appended without a header: numbers that can be
  // added on their way. Only for pipelines that are summable_as() a dtype and
  // not sparse; no tensor bypasses them here.
  void encode_numbers(std::span<const float> gradient, std::span<float> memory,
                      const MessageId& id, ByteWriter& out) const;

  // The dense tensor. Throws Error(kDataLoss).
  void decode(std::span<const std::byte> bytes, const MessageId& id,
              std::span<float> values) const;
  // The entries alone, where a sparsifier is in the pipeline; `size` is the
  // number of elements that the receiver expects. A tensor that bypassed the
  // stages comes out with all its entries.
  void decode_sparse(std::span<const std::byte> bytes, const MessageId& id,
                     std::uint32_t size, SparseEntries& entries) const;

  bool is_sparse() const;  // has a sparsifier
  bool is_lossless() const;
  bool needs_feedback() const;  // biased: training needs a memory
  // Why its messages must not be corrected by later ones; nothing where every
  // stage is a contraction (ValueCodec).
  std::optional<Refusal> declines_feedback() const;
  // True if nothing but the picked values travels, at the same indices on
  // all ranks (randomk).
  bool has_shared_indices() const;
  // True for entries as they are, which streams can add: raw indices and f32
  // values.
  bool has_plain_entries() const;
  // See ValueCodec::summable_as(); "" with index or byte codecs.
  std::string_view summable_as() const;
  // How many entries a message of so many elements holds; nothing where that
  // depends on the values.
  std::optional<std::uint32_t> entry_count(std::uint32_t elements) const;
  // Whether a tensor of this size bypasses the stages.
  bool bypasses(std::int64_t elements) const;

  const Sparsifier* sparsifier() const;
  const ValueCodec& value_codec() const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace weft
