#include "weft/comm/codec/pipeline_text.h"

#include <fmt/ranges.h>

namespace weft {
namespace {

template <class Codec>
void append_names(const Registry<CodecDef<Codec>>& registry,
                  std::vector<std::string>& names) {
  for (const auto& def : registry.all()) names.push_back(def.name);
}

class Parser {
 public:
  explicit Parser(CallReader& reader) : reader_(reader) {}

  PipelineText parse() {
    if (reader_.is_at_end()) {
      throw reader_.fail(reader_.place(), "a pipeline needs a stage")
          .hint("\"none\" sends plain f32");
    }
    do {
      read_part();
    } while (reader_.take('|'));
    return std::move(pipeline_);
  }

 private:
  // What a part of the pipeline holds, in the order in which parts stand.
  enum class Part { kNone, kSparsifier, kCodecs, kBytes };

  void read_part() {
    Part part = Part::kNone;
    do {
      const std::size_t place = reader_.place();
      const Part found = read_stage();
      // index: and value: are two stages of one part; of any other kind, a part
      // has one.
      if (part != Part::kNone && (found != part || part != Part::kCodecs)) {
        throw reader_.fail(place, "a '|' is due between two stages");
      }
      if (part == Part::kNone && found <= last_part_) {
        throw reader_
            .fail(place, found == Part::kCodecs
                             ? "index: and value: stand between the same '|'"
                             : "this stage stands too late")
            .hint("the order is: sparsifier | index:… value:… | byte codec");
      }
      part = found;
    } while (!is_at_end_of_part());
    last_part_ = part;
  }

  bool is_at_end_of_part() const {
    // A pipeline may be an argument of a call, which goes on or ends behind it.
    return reader_.is_at_end() || reader_.peek() == '|' ||
           reader_.peek() == ')' || reader_.peek() == ',';
  }

  Part read_stage() {
    std::size_t place = reader_.place();
    std::string_view name = reader_.take_name("the name of a stage");
    if (reader_.take(':')) {
      const std::string_view kind = name;
      const std::size_t kind_place = place;
      place = reader_.place();
      name = reader_.take_name("the name of a codec");
      if (kind == "index") {
        read_into(pipeline_.index, index_codec_registry(), name, place);
      } else if (kind == "value") {
        read_into(pipeline_.value, value_codec_registry(), name, place);
      } else {
        throw reader_.fail(kind_place, fmt::format("'{}:' is not known", kind))
            .hint("write index:CODEC or value:CODEC");
      }
      return Part::kCodecs;
    }
    // A name without its kind is looked for among the kinds that can go
    // without.
    if (sparsifier_registry().find(name) != nullptr) {
      read_into(pipeline_.sparsifier, sparsifier_registry(), name, place);
      return Part::kSparsifier;
    }
    if (byte_codec_registry().find(name) != nullptr) {
      read_into(pipeline_.bytes, byte_codec_registry(), name, place);
      return Part::kBytes;
    }
    if (value_codec_registry().find(name) == nullptr) {
      throw unknown_stage(name, place);
    }
    read_into(pipeline_.value, value_codec_registry(), name, place);
    return Part::kCodecs;
  }

  Error unknown_stage(std::string_view name, std::size_t place) const {
    // An index codec's name cannot go without its kind.
    if (index_codec_registry().find(name) != nullptr) {
      return reader_.fail(place, fmt::format("'{}' is an index codec", name))
          .hint(fmt::format("write index:{}", name));
    }
    std::vector<std::string> names;
    append_names(sparsifier_registry(), names);
    append_names(value_codec_registry(), names);
    append_names(byte_codec_registry(), names);
    const std::string near = nearest(name, names);
    return reader_
        .fail(
            place,
            fmt::format(
                "no stage '{}'{}", name,
                near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near)))
        .detail(fmt::format("known: {}", fmt::join(names, ", ")));
  }

  template <class Codec>
  void read_into(std::optional<Stage<Codec>>& stage,
                 const Registry<CodecDef<Codec>>& registry,
                 std::string_view name, std::size_t place) {
    if (stage) {
      throw reader_.fail(place, fmt::format("'{}' already stands at this place",
                                            stage->def->name));
    }
    const CodecDef<Codec>& def = reader_.at(
        place, [&]() -> const auto& { return registry.get(name); });
    stage = {&def, reader_.take_options(def.name, def.options), place};
  }

  CallReader& reader_;
  Part last_part_ = Part::kNone;
  PipelineText pipeline_;
};

}  // namespace

PipelineText take_pipeline(CallReader& reader) {
  return Parser(reader).parse();
}

PipelineText parse_pipeline(std::string_view text) {
  CallReader reader(text, "codec");
  PipelineText pipeline = take_pipeline(reader);
  reader.expect_end();
  return pipeline;
}

std::string to_string(const PipelineText& pipeline) {
  std::string text;
  const auto append = [&](std::string_view between, std::string_view prefix,
                          const auto& stage) {
    if (!stage) return;
    if (!text.empty()) text += between;
    text += prefix;
    text += to_string(*stage);
  };
  append("", "", pipeline.sparsifier);
  append(" | ", "index:", pipeline.index);
  // A value codec needs no kind where it stands alone, and then has none, so
  // that equal pipelines have equal texts.
  append(pipeline.index ? " " : " | ", pipeline.index ? "value:" : "",
         pipeline.value);
  append(" | ", "", pipeline.bytes);
  return text;
}

}  // namespace weft
