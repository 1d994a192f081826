// The few calls of MPI that its transport needs, as plain functions of a
// library that is only loaded in processes that mpirun or srun has started.
//
// Nothing but numbers and bytes crosses the border: no classes, no exceptions.
// So it does not matter how the program was linked, and one Weft works with
// whatever MPI the library was built with.
//
// Threads: one at a time (MPI_THREAD_SERIALIZED).
#pragma once

#include <cstddef>

namespace weft {

inline constexpr std::size_t kMpiHostBytes = 256;
inline constexpr int kMpiAnySource = -1;

struct MpiWorldInfo {
  int rank = 0;
  int size = 0;
  int tag_bits = 0;  // tags are below 2^tag_bits
};

// A message that is over.
struct MpiCompletion {
  void* owner = nullptr;
  int from = 0;           // of a receive
  std::size_t bytes = 0;  // of a receive
  int error = 0;
  bool is_truncated = false;  // the error: it was longer than its room
};

// Functions that return int return 0, or an error for error_text().
struct MpiFunctions {
  int (*open)(MpiWorldInfo* info);
  // The host names of all ranks, kMpiHostBytes each. Entered by all.
  int (*host_names)(char* names);
  // Makes `bytes` of zeroed memory that the other ranks of the machine can
  // write too, until close(). memory[i] becomes the address here of what rank
  // i has made, null for a rank of another machine. Entered by all, once.
  int (*share)(std::size_t bytes, void** memory);
  // Start a message of at most 2^31 - 1 bytes; `owner` names it from then on.
  int (*send)(void* owner, const void* data, std::size_t bytes, int to,
              int tag);
  int (*receive)(void* owner, void* room, std::size_t bytes, int from, int tag);
  // Moves messages. Gives those that are over; valid until the next call.
  int (*poll)(const MpiCompletion** completions, int* count);
  // Moves messages, and says whether this one is over; poll() will not then.
  int (*test)(void* owner, int* is_over);
  // Takes a receive back: afterwards its room is left alone.
  int (*cancel_receive)(void* owner);
  // Waits for all ranks. Entered by all, at the end.
  int (*close)();
  void (*error_text)(int error, char* text, std::size_t size);
};

// The one symbol of the library: "weft_mpi_functions".
using MpiEntry = const MpiFunctions* (*)();

}  // namespace weft
