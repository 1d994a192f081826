// The text form of a pipeline (see codec.h):
//
//   pipeline := part ("|" part)*      sparsifier, then codecs, then bytes
//   part     := stage+                several only as index:… value:…
//   stage    := [("index" | "value") ":"] name ["(" [option ("," option)*] ")"]
//   option   := [name "="] literal    a name may be left out of the first
//   literal  := number | "true" | "false" | word | '"' text '"'
//
// Every mistake is an Error(kInvalidArgument) that quotes the text with a
// caret under the place.
//
// Threads: value types and pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "weft/comm/codec/codec.h"

namespace weft {

template <class Codec>
struct Stage {
  const CodecDef<Codec>* def = nullptr;
  Options options;        // complete
  std::size_t place = 0;  // in the text, of the name
};

struct PipelineText {
  std::optional<Stage<Sparsifier>> sparsifier;
  std::optional<Stage<IndexCodec>> index;
  std::optional<Stage<ValueCodec>> value;
  std::optional<Stage<ByteCodec>> bytes;
};

// Only the stages that the text names are set. Throws as Pipeline does.
PipelineText parse_pipeline(std::string_view text);

// `error` with the text and a caret under `place` below its message.
Error at_place(Error error, std::string_view text, std::size_t place);

// Canonical: "qsgd(bits=7, …)", every option written out in the order of the
// schema.
template <class Codec>
std::string to_string(const Stage<Codec>& stage);
// The stages with what stands between them; parse_pipeline() reads it back.
std::string to_string(const PipelineText& pipeline);

}  // namespace weft
