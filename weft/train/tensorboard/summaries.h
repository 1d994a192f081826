// What TensorBoard shows, as parts of a Summary message: scalars, histograms,
// images, hyperparameters; and graphs, as GraphDef messages.
//
// Threads: pure functions.
// Source:  TensorFlow, summary.proto, graph.proto and plugin_data.proto of the
//          hparams plugin.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "weft/base/options.h"
#include "weft/base/wire_writer.h"
#include "weft/data/image.h"
#include "weft/graph/function.h"
#include "weft/tensor/tensor.h"

namespace weft {

void add_scalar(WireWriter& summary, const std::string& tag, double value);

// The distribution of a floating tensor, in buckets that grow by a tenth; NaN
// and infinities are left out, and counted as the scalar "TAG/not finite" where
// there are any.
void add_histogram(WireWriter& summary, const std::string& tag,
                   const Tensor& values);

// Throws Error(kExhausted) as encode_png().
void add_image(WireWriter& summary, const std::string& tag, const Image& image);

// What a run was started with, by name: keys of recipes and their values as
// text, and that it is done.
void add_hyperparameters(WireWriter& summary,
                         const std::map<std::string, std::string>& values,
                         std::string_view run);
void add_end_of_run(WireWriter& summary);

// The nodes of a function, under the names of its layers where they are known.
std::string graph_def(const Function& function);

}  // namespace weft
