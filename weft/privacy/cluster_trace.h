// Jobs of a cluster, from the trace of Alibaba's GPUs of 2023 (Weng et al.,
// "Beware of fragmentation", ATC 2023): openb_pod_list_default.csv and its kin.
//
// Threads: pure functions.
#pragma once

#include <filesystem>
#include <vector>

namespace weft::privacy {

struct ClusterJob {
  double created = 0;  // seconds
  double runtime = 0;  // seconds
  double memory = 0;   // MiB
  double gpus = 0;     // also parts of one
};

// In the order of the file. Throws Error(kUnavailable) for no file,
// Error(kDataLoss) naming the line for one that is no such table.
std::vector<ClusterJob> read_cluster_trace(const std::filesystem::path& path);

}  // namespace weft::privacy
