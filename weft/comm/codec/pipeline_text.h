// The text form of a pipeline (see codec.h):
//
//   pipeline := part ("|" part)*      sparsifier, then codecs, then bytes
//   part     := stage+                several only as index:… value:…
//   stage    := [("index" | "value") ":"] call    as in base/call_reader.h
//
// Every mistake is an Error(kInvalidArgument) that quotes the text with a
// caret under the place.
//
// Threads: value types and pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weft/base/call_reader.h"
#include "weft/comm/codec/codec.h"

namespace weft {

template <class Codec>
using Stage = Call<CodecDef<Codec>>;

struct PipelineText {
  std::optional<Stage<Sparsifier>> sparsifier;
  std::optional<Stage<IndexCodec>> index;
  std::optional<Stage<ValueCodec>> value;
  std::optional<Stage<ByteCodec>> bytes;
};

// Only the stages that the text names are set. Throws as Pipeline does.
PipelineText parse_pipeline(std::string_view text);

// The same as a part of a longer text, "dsar(qsgd(4))": takes what is next, to
// the ')' or ',' that no stage has opened, or the end.
PipelineText take_pipeline(CallReader& reader);

// The stages, each in its canonical form, with what stands between them;
// parse_pipeline() reads it back.
std::string to_string(const PipelineText& pipeline);

}  // namespace weft
