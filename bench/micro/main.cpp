// weft-micro: Google Benchmark's options.
#include <benchmark/benchmark.h>
#include <string>

#include "bench/micro/benches.h"

#include "weft/base/parallel.h"

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("threads", std::to_string(weft::thread_count()));
  weft::micro::register_kernels();
  weft::micro::register_loops();
  weft::micro::register_executor();
  weft::micro::register_jit();
  weft::micro::register_streams();
  weft::micro::register_deepreduce();
  weft::micro::register_simulate();
  weft::micro::register_codecs();
  weft::micro::register_batching();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
