// Pipelines that between them use every registered stage.
#pragma once

#include <string>
#include <vector>

#include "weft/comm/codec/codec.h"

namespace weft::test {

inline std::vector<std::string> sample_pipelines() {
  std::vector<std::string> texts;
  for (const auto& def : sparsifier_registry().all()) {
    texts.push_back(def.name);
  }
  for (const auto& def : index_codec_registry().all()) {
    texts.push_back("topk(0.1) | index:" + def.name);
  }
  for (const auto& def : value_codec_registry().all()) {
    texts.push_back("topk(0.25) | " + def.name);
    const auto codec = def.make(complete(def.options, {}, def.name));
    if (codec->is_for_dense()) texts.push_back(def.name);
  }
  for (const auto& def : byte_codec_registry().all()) {
    texts.push_back("topk(0.1) | int8 | " + def.name);
    texts.push_back(def.name);
  }
  // Other formats of the same stages.
  texts.insert(texts.end(), {"qsgd(3, coding=elias)", "qsgd(2, coding=elias)",
                             "3lc(zero_run=false)"});
  return texts;
}

}  // namespace weft::test
