#include "weft/comm/codec/pipeline.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/comm/codec/f32_bytes.h"
#include "weft/comm/codec/magnitude.h"
#include "weft/comm/codec/pipeline_text.h"

namespace weft {
namespace {

// Layout of a message:
//
//   u8   format version
//   u8   flags: 1, the tensor bypassed the stages
//   u32  elements of the tensor
//   u32  fingerprint of the canonical text
//   …    plain f32, or what the stages wrote: index, then values, all through
//        the byte codec if there is one
constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kBypassed = 1;

// What the stages before a byte codec may write, and so what a receiver
// allots for it: far more than any of them needs.
constexpr std::size_t most_stage_bytes(std::size_t elements) {
  return 4096 + 16 * elements;
}

// FNV-1a (Fowler, Noll and Vo).
std::uint32_t fingerprint_of(std::string_view text) {
  std::uint32_t hash = 0x811C9DC5;
  for (const char c : text) {
    hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x01000193u;
  }
  return hash;
}

std::uint32_t size_of_tensor(std::size_t elements) {
  WEFT_CHECK(elements <= std::numeric_limits<std::uint32_t>::max());
  return static_cast<std::uint32_t>(elements);
}

// The largest magnitude of gradient + memory. Throws Error(kNumeric).
float largest_finite(std::span<const float> gradient,
                     std::span<const float> memory) {
  const float largest = memory.empty() ? largest_magnitude(gradient)
                                       : largest_magnitude(gradient, memory);
  if (std::isfinite(largest)) return largest;
  std::size_t i = 0;
  while (std::isfinite(gradient[i] + (memory.empty() ? 0 : memory[i]))) ++i;
  throw Error(ErrorCode::kNumeric, "codec",
              "element {} of {} is not finite: {}{}", i, gradient.size(),
              gradient[i],
              memory.empty() ? "" : fmt::format(" + {} unsent", memory[i]))
      .hint("nothing was sent; what is unsent is as it was");
}

template <class Codec>
std::unique_ptr<Codec> make(const std::optional<Stage<Codec>>& stage) {
  return stage ? stage->def->make(stage->options) : nullptr;
}

}  // namespace

struct Pipeline::State {
  State(std::string_view given, const PipelineOptions& options);

  // Throws where stages decline each other, with the pipeline that was meant.
  void check(std::string_view given) const;
  void encode_dense(std::span<const float> gradient, std::span<float> memory,
                    float largest, const MessageId& id, ByteWriter& out) const;
  void encode_sparse(std::span<const float> gradient, std::span<float> memory,
                     const MessageId& id, Message& message,
                     ByteWriter& out) const;
  // Checks the header; what is left of `in` are the stages. Returns whether
  // they were bypassed.
  bool read_header(ByteReader& in, std::uint32_t elements) const;
  // Calls read(in) with what the stages wrote before the byte codec.
  template <class Read>
  void read_stages(ByteReader& in, std::size_t elements, Read&& read) const;
  void read_entries(ByteReader& in, const MessageId& id,
                    SparseEntries& entries) const;

  PipelineOptions options;
  PipelineText stages;
  std::string text;
  std::uint32_t fingerprint = 0;
  std::unique_ptr<const Sparsifier> sparsifier;
  std::unique_ptr<const IndexCodec> index;
  std::unique_ptr<const ValueCodec> value;
  std::unique_ptr<const ByteCodec> bytes;
};

Pipeline::State::State(std::string_view given, const PipelineOptions& chosen)
    : options(chosen), stages(parse_pipeline(given)) {
  sparsifier = make(stages.sparsifier);
  index = make(stages.index);
  value = make(stages.value);
  bytes = make(stages.bytes);
  // It is checked before anything is filled in, as mistakes are told about what
  // was written.
  check(given);
  // What was left out is filled in, so that the text names all that is done;
  // the fingerprint is made of it, and pipelines that are written differently
  // and mean the same understand each other.
  if (sparsifier && !sparsifier->is_shared() && !index) {
    stages.index = parse_pipeline("index:raw").index;
    index = make(stages.index);
  }
  if (!value) {
    stages.value = parse_pipeline("none").value;
    value = make(stages.value);
  }
  // What a false positive of a lossy index costs depends on the value that
  // travels with it.
  if (index) {
    if (auto made = index->for_values(value->value_bits())) {
      index = std::move(made);
    }
  }
  text = to_string(stages);
  fingerprint = fingerprint_of(text);
}

void Pipeline::State::check(std::string_view given) const {
  const auto refuse = [&](const auto& stage, std::string what,
                          std::string because, const PipelineText& nearest) {
    throw at_place(refused("codec", in_quotes(stage->def->name),
                           {std::move(what), std::move(because),
                            "this works: " + to_string(nearest)}),
                   given, stage->place);
  };
  PipelineText nearest = stages;
  if (index && !sparsifier) {
    nearest.sparsifier = parse_pipeline("topk").sparsifier;
    refuse(stages.index, "a whole tensor", "that has no indices to send",
           nearest);
  }
  if (index && sparsifier->is_shared()) {
    nearest.index.reset();
    refuse(stages.index, in_quotes(stages.sparsifier->def->name),
           "all ranks draw the same indices, and none is sent", nearest);
  }
  if (value && !value->is_for_dense() && !sparsifier) {
    nearest.sparsifier = parse_pipeline("topk").sparsifier;
    refuse(stages.value, "a whole tensor", "it is made for few values",
           nearest);
  }
}

void Pipeline::State::encode_dense(std::span<const float> gradient,
                                   std::span<float> memory, float largest,
                                   const MessageId& id, ByteWriter& out) const {
  if (memory.empty()) {
    value->encode(gradient, id, {}, out);
  } else {
    value->encode_with_memory(gradient, memory, largest, id, out);
  }
}

void Pipeline::State::encode_sparse(std::span<const float> gradient,
                                    std::span<float> memory,
                                    const MessageId& id, Message& message,
                                    ByteWriter& out) const {
  WEFT_CHECK(memory.empty() || !sparsifier->is_unbiased(),
             "{} needs no error feedback", text);
  // With a memory, what is sent is picked from the sum of all that was not sent
  // so far.
  std::span<const float> dense = gradient;
  if (!memory.empty()) {
    accumulate(gradient, memory);
    dense = memory;
  }
  const std::uint32_t size = size_of_tensor(dense.size());
  auto& selected = message.scratch.selected;
  SparseEntries& sent = message.sent;
  selected.clear();
  sparsifier->select(dense, id, selected);
  if (index) {
    index->encode(selected, size, id, sent.indices, out);
  } else {
    sent.indices = selected;
  }

  // A lossy index codec sends other places than were selected: values are those
  // of the places that the receiver will see, unless the codec says that it
  // sends the selected ones all the same.
  const bool sends_selected = index && index->sends_selected_values();
  const auto& places = sends_selected ? selected : sent.indices;
  WEFT_CHECK(places.size() == sent.indices.size());
  auto& picked = message.scratch.values;
  picked.resize(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) picked[i] = dense[places[i]];
  const std::size_t begin = out.size();
  value->encode(picked, id, {}, out);

  // What the receiver will decode, from the bytes that it will see.
  sent.size = size;
  sent.values.resize(picked.size());
  ByteReader written(out.bytes().subspan(begin), text);
  value->decode(written, id, sent.values);
  written.expect_end();
  if (!memory.empty()) {
    for (std::size_t i = 0; i < sent.indices.size(); ++i) {
      memory[sent.indices[i]] -= sent.values[i];
    }
  }
  const float scale = sparsifier->scale(size);
  for (float& each : sent.values) each *= scale;
  if (!std::isfinite(largest_magnitude(sent.values))) {
    throw Error(ErrorCode::kNumeric, "codec",
                "a value that is picked is not finite times {:.4g}", scale);
  }
}

bool Pipeline::State::read_header(ByteReader& in,
                                  std::uint32_t elements) const {
  if (in.read<std::uint8_t>("version") != kVersion) {
    throw in.damaged("version",
                     fmt::format("is not {}, the one known here", kVersion));
  }
  const auto flags = in.read<std::uint8_t>("flags");
  if (flags > kBypassed) throw in.damaged("flags", "has unknown bits");
  // What the receiver knows is compared, and never taken from the message.
  if (const auto sent = in.read<std::uint32_t>("elements"); sent != elements) {
    throw in.damaged("elements",
                     fmt::format("is {}, but {} are expected", sent, elements));
  }
  if (in.read<std::uint32_t>("fingerprint") != fingerprint) {
    throw in.damaged("fingerprint", "is that of another pipeline")
        .detail("the receiver's: " + text);
  }
  return flags == kBypassed;
}

template <class Read>
void Pipeline::State::read_stages(ByteReader& in, std::size_t elements,
                                  Read&& read) const {
  if (!bytes) {
    read(in);
    in.expect_end();
    return;
  }
  Bytes unpacked;
  // The bound keeps a small message from unpacking to all of memory.
  bytes->decode(in.take(in.remaining(), "stages"), most_stage_bytes(elements),
                unpacked);
  ByteReader inner(unpacked, text);
  read(inner);
  inner.expect_end();
}

// entries.size is set.
void Pipeline::State::read_entries(ByteReader& in, const MessageId& id,
                                   SparseEntries& entries) const {
  entries.indices.clear();
  if (index) {
    index->decode(in, entries.size, id, entries.indices);
  } else {
    sparsifier->draw(entries.size, id, entries.indices);
  }
  WEFT_CHECK(entries.indices.empty() || entries.indices.back() < entries.size);
  entries.values.resize(entries.indices.size());
  value->decode(in, id, entries.values);
  const float scale = sparsifier->scale(entries.size);
  for (float& each : entries.values) each *= scale;
  if (!std::isfinite(largest_magnitude(entries.values))) {
    throw in.damaged("values", "holds a value that is not finite");
  }
}

Pipeline::Pipeline(std::string_view text, const PipelineOptions& options)
    : state_(std::make_unique<State>(text, options)) {}
Pipeline::~Pipeline() = default;
Pipeline::Pipeline(Pipeline&&) noexcept = default;

const std::string& Pipeline::text() const { return state_->text; }

void Pipeline::encode(std::span<const float> gradient, std::span<float> memory,
                      const MessageId& id, Message& message) const {
  WEFT_CHECK(memory.empty() || memory.size() == gradient.size());
  const std::uint32_t elements = size_of_tensor(gradient.size());
  const bool is_bypassed = bypasses(elements);
  // This is looked at before anything changes, so that the memory is as it was
  // if it throws.
  const float largest = largest_finite(gradient, memory);
  message.bytes.clear();
  message.sent.size = elements;
  message.sent.indices.clear();
  message.sent.values.clear();

  ByteWriter out(message.bytes);
  out.write(kVersion);
  out.write(is_bypassed ? kBypassed : std::uint8_t{0});
  out.write(elements);
  out.write(state_->fingerprint);
  if (is_bypassed) {
    if (!memory.empty()) accumulate(gradient, memory);
    out.write_all(memory.empty() ? gradient : std::span<const float>(memory));
    // Plain f32 carries all of it.
    std::fill(memory.begin(), memory.end(), 0.0f);
    return;
  }
  ByteWriter staged(message.scratch.stages);
  staged.truncate(0);
  ByteWriter& stages = state_->bytes ? staged : out;
  const std::size_t begin = stages.size();
  if (state_->sparsifier) {
    state_->encode_sparse(gradient, memory, id, message, stages);
  } else {
    state_->encode_dense(gradient, memory, largest, id, stages);
  }
  // A receiver would refuse more than this.
  WEFT_CHECK(stages.size() - begin <= most_stage_bytes(elements));
  if (state_->bytes) state_->bytes->encode(staged.bytes(), out);
}

void Pipeline::encode_numbers(std::span<const float> gradient,
                              std::span<float> memory, const MessageId& id,
                              ByteWriter& out) const {
  WEFT_CHECK(!is_sparse() && summable_as() != "", "{} is no numbers", text());
  WEFT_CHECK(memory.empty() || memory.size() == gradient.size());
  state_->encode_dense(gradient, memory, largest_finite(gradient, memory), id,
                       out);
}

void Pipeline::decode(std::span<const std::byte> bytes, const MessageId& id,
                      std::span<float> values) const {
  const std::uint32_t elements = size_of_tensor(values.size());
  ByteReader in(bytes, state_->text);
  if (state_->read_header(in, elements)) {
    read_floats(in, values);
    in.expect_end();
    return;
  }
  state_->read_stages(in, elements, [&](ByteReader& stages) {
    if (!state_->sparsifier) {
      state_->value->decode(stages, id, values);
      return;
    }
    SparseEntries entries;
    entries.size = elements;
    state_->read_entries(stages, id, entries);
    std::fill(values.begin(), values.end(), 0.0f);
    for (std::size_t i = 0; i < entries.indices.size(); ++i) {
      values[entries.indices[i]] = entries.values[i];
    }
  });
}

void Pipeline::decode_sparse(std::span<const std::byte> bytes,
                             const MessageId& id, std::uint32_t size,
                             SparseEntries& entries) const {
  WEFT_CHECK(is_sparse(), "{} has no sparsifier", text());
  entries.size = size;
  ByteReader in(bytes, state_->text);
  if (state_->read_header(in, size)) {
    // This comes before memory is taken for the entries: a damaged header shall
    // not make the receiver take any.
    if (in.remaining() != std::size_t{size} * sizeof(float)) {
      throw in.damaged("values", "do not have the length of the tensor");
    }
    entries.indices.resize(size);
    for (std::uint32_t i = 0; i < size; ++i) entries.indices[i] = i;
    entries.values.resize(size);
    read_floats(in, entries.values);
    return;
  }
  state_->read_stages(in, size, [&](ByteReader& stages) {
    state_->read_entries(stages, id, entries);
  });
}

bool Pipeline::is_sparse() const { return state_->sparsifier != nullptr; }
bool Pipeline::is_lossless() const {
  return !is_sparse() && state_->value->is_lossless();
}
bool Pipeline::needs_feedback() const {
  return !state_->value->is_unbiased() ||
         (is_sparse() && !state_->sparsifier->is_unbiased());
}
std::optional<Refusal> Pipeline::declines_feedback() const {
  std::optional<Refusal> refusal;
  if (state_->sparsifier) refusal = state_->sparsifier->declines_feedback();
  if (!refusal && state_->index) refusal = state_->index->declines_feedback();
  return refusal ? refusal : state_->value->declines_feedback();
}
bool Pipeline::has_shared_indices() const {
  return is_sparse() && state_->sparsifier->is_shared();
}
bool Pipeline::has_plain_entries() const {
  const PipelineText& stages = state_->stages;
  return stages.sparsifier && !stages.bytes && stages.index &&
         stages.index->def->name == "raw" && stages.value->def->name == "none";
}
std::string_view Pipeline::summable_as() const {
  // Packed indices and bytes are no numbers that could be added.
  if (state_->index || state_->bytes) return "";
  return state_->value->summable_as();
}
std::optional<std::uint32_t> Pipeline::entry_count(
    std::uint32_t elements) const {
  if (bypasses(elements) || !is_sparse()) return elements;
  // An index codec with losses sends other entries than were picked, and as
  // many as it likes.
  if (state_->index && !state_->index->is_lossless()) return std::nullopt;
  return state_->sparsifier->count(elements);
}
bool Pipeline::bypasses(std::int64_t elements) const {
  return elements < state_->options.min_elements;
}

const Sparsifier* Pipeline::sparsifier() const {
  return state_->sparsifier.get();
}
const ValueCodec& Pipeline::value_codec() const { return *state_->value; }

}  // namespace weft
