// The micro-benchmarks, one function per file NAME_bench.cpp.
#pragma once

namespace weft::micro {

void register_kernels();
void register_loops();
void register_executor();
void register_jit();
void register_streams();
void register_deepreduce();
void register_simulate();
void register_codecs();
void register_batching();

}  // namespace weft::micro
