// Sparse examples in the text form of LIBSVM and SVMlight: a line
// "target index:value index:value …" for each example, indices from 1 on and
// ascending, '#' before comments; plain, or packed by gzip.
//
//   const concurrent::SparseRows rows = read_libsvm("rcv1_train.binary.gz");
//
// Values of 0 are left out. What is allocated depends on the size of the file
// and not on the indices that it claims.
//
// Errors: Error(kDataLoss) with the line that is no example, or for a file
//         without any; read_libsvm() also Error(kUnavailable) for a file that
//         cannot be read, and Error(kExhausted) past 16 GiB unpacked.
// Threads: pure functions.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "weft/concurrent/sgd/sparse_rows.h"

namespace weft {

// Indices are at most this, as vectors of one entry for each are made of them.
inline constexpr std::uint32_t kMostLibsvmIndex = 1U << 30U;

// `where` names the text in errors. O(size of the text).
concurrent::SparseRows parse_libsvm(std::string_view text,
                                    const std::string& where);
concurrent::SparseRows read_libsvm(const std::filesystem::path& path);

// Two classes, whatever they are called (0 and 1, 1 and 2), as -1 and 1, the
// smaller first. Throws Error(kInvalidArgument) for another number of them.
void make_binary(concurrent::SparseRows& rows, const std::string& where);

}  // namespace weft
