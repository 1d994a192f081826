// libweft_mpi.so: the functions of functions.h, over MPI 3.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

// The C bindings only.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "weft/comm/mpi/functions.h"

namespace weft {
namespace {

// Requests that are not over, and whose they are: parallel arrays, as
// MPI_Testsome wants them.
struct Requests {
  std::vector<MPI_Request> requests;
  std::vector<void*> owners;
  std::vector<int> indices;  // that are over
  std::vector<MPI_Status> statuses;
  std::vector<MpiCompletion> completions;  // given out last

  void add(MPI_Request request, void* owner) {
    requests.push_back(request);
    owners.push_back(owner);
  }
  MPI_Request* find(const void* owner) {
    const auto found = std::find(owners.begin(), owners.end(), owner);
    return found == owners.end() ? nullptr
                                 : requests.data() + (found - owners.begin());
  }
  void remove_over() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      // MPI sets the requests that are over to null.
      if (requests[i] == MPI_REQUEST_NULL) continue;
      requests[kept] = requests[i];
      owners[kept++] = owners[i];
    }
    requests.resize(kept);
    owners.resize(kept);
  }
};

Requests& pending() {
  static Requests requests;
  return requests;
}

// Weft's messages do not meet those of other libraries of the process.
MPI_Comm& world() {
  static MPI_Comm communicator = MPI_COMM_NULL;
  return communicator;
}

int open_world(MpiWorldInfo* info) {
  // Open MPI over TCP: its default, a remote put that TCP has to emulate,
  // nearly halves the bandwidth of two ranks that send to each other at once.
  // Plain sends do not. What the user has set stands; other MPIs ignore it.
  setenv("OMPI_MCA_btl_tcp_flags", "1", /*overwrite=*/0);
  // What is longer than this (64 KiB by default) is announced, and the answer
  // waits behind all that its sender has under way, on a slow link for longer
  // than a bucket of gradients takes.
  setenv("OMPI_MCA_btl_tcp_eager_limit", "1048576", /*overwrite=*/0);
  int provided = 0;
  int error =
      MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  if (error != MPI_SUCCESS) return error;
  if (provided < MPI_THREAD_SERIALIZED) return MPI_ERR_OTHER;
  // Errors come back as codes: by default MPI ends the process.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  error = MPI_Comm_dup(MPI_COMM_WORLD, &world());
  if (error != MPI_SUCCESS) return error;
  MPI_Comm_set_errhandler(world(), MPI_ERRORS_RETURN);
  MPI_Comm_rank(world(), &info->rank);
  MPI_Comm_size(world(), &info->size);
  int* most_tag = nullptr;
  int is_set = 0;
  MPI_Comm_get_attr(world(), MPI_TAG_UB, static_cast<void*>(&most_tag),
                    &is_set);
  // What the standard promises at least.
  const long most = is_set != 0 ? *most_tag : 32767;
  // All numbers of so many bits are tags, the largest of them too.
  info->tag_bits = 0;
  while (info->tag_bits < 30 && (1L << (info->tag_bits + 1)) - 1 <= most) {
    ++info->tag_bits;
  }
  return MPI_SUCCESS;
}

int host_names(char* names) {
  char own[std::max<std::size_t>(kMpiHostBytes, MPI_MAX_PROCESSOR_NAME)] = {};
  int length = 0;
  const int error = MPI_Get_processor_name(own, &length);
  if (error != MPI_SUCCESS) return error;
  own[kMpiHostBytes - 1] = '\0';
  return MPI_Allgather(own, kMpiHostBytes, MPI_CHAR, names, kMpiHostBytes,
                       MPI_CHAR, world());
}

// The memory that share() has made.
MPI_Win& window() {
  static MPI_Win made = MPI_WIN_NULL;
  return made;
}

// The place of each rank in `part`, MPI_UNDEFINED for one that is not there.
int places_in(MPI_Comm part, std::vector<int>& places) {
  std::vector<int> ranks(places.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group members = MPI_GROUP_NULL;
  MPI_Comm_group(world(), &all);
  MPI_Comm_group(part, &members);
  const int error =
      MPI_Group_translate_ranks(all, static_cast<int>(ranks.size()),
                                ranks.data(), members, places.data());
  MPI_Group_free(&all);
  MPI_Group_free(&members);
  return error;
}

int share(std::size_t bytes, void** memory) {
  MPI_Comm machine = MPI_COMM_NULL;
  int error = MPI_Comm_split_type(world(), MPI_COMM_TYPE_SHARED, 0,
                                  MPI_INFO_NULL, &machine);
  if (error != MPI_SUCCESS) return error;
  void* own = nullptr;
  error =
      MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL,
                              machine, static_cast<void*>(&own), &window());
  if (error != MPI_SUCCESS) return error;
  // Pipes begin with counters of zero (shared_pipe.h), and MPI does not promise
  // cleared memory.
  if (bytes > 0) std::memset(own, 0, bytes);
  int ranks = 0;
  MPI_Comm_size(world(), &ranks);
  std::vector<int> places(static_cast<std::size_t>(ranks));
  error = places_in(machine, places);
  for (std::size_t i = 0; error == MPI_SUCCESS && i < places.size(); ++i) {
    memory[i] = nullptr;
    if (places[i] == MPI_UNDEFINED) continue;
    MPI_Aint size = 0;
    int unit = 0;
    error = MPI_Win_shared_query(window(), places[i], &size, &unit,
                                 static_cast<void*>(&memory[i]));
  }
  MPI_Comm_free(&machine);
  // Nobody writes before all have zeroed.
  return error == MPI_SUCCESS ? MPI_Barrier(world()) : error;
}

int send(void* owner, const void* data, std::size_t bytes, int to, int tag) {
  // More bytes than an int counts are refused before they come here
  // (MpiTransport::start).
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag,
                              world(), &request);
  if (error == MPI_SUCCESS) pending().add(request, owner);
  return error;
}

int receive(void* owner, void* room, std::size_t bytes, int from, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int source = from == kMpiAnySource ? MPI_ANY_SOURCE : from;
  const int error = MPI_Irecv(room, static_cast<int>(bytes), MPI_BYTE, source,
                              tag, world(), &request);
  if (error == MPI_SUCCESS) pending().add(request, owner);
  return error;
}

MpiCompletion completion_of(void* owner, const MPI_Status& status, int error) {
  MpiCompletion completion;
  completion.owner = owner;
  completion.error = error;
  if (error != MPI_SUCCESS) {
    int kind = MPI_SUCCESS;
    MPI_Error_class(error, &kind);
    completion.is_truncated = kind == MPI_ERR_TRUNCATE;
    return completion;
  }
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  completion.from = status.MPI_SOURCE;
  // MPI_UNDEFINED, where MPI does not know the count, is negative.
  completion.bytes = static_cast<std::size_t>(std::max(count, 0));
  return completion;
}

int poll(const MpiCompletion** completions, int* count) {
  Requests& r = pending();
  *count = 0;
  r.completions.clear();
  r.indices.resize(r.requests.size());
  r.statuses.resize(r.requests.size());
  int over = 0;
  const int error =
      MPI_Testsome(static_cast<int>(r.requests.size()), r.requests.data(),
                   &over, r.indices.data(), r.statuses.data());
  if (error != MPI_SUCCESS && error != MPI_ERR_IN_STATUS) return error;
  if (over == MPI_UNDEFINED || over == 0) return MPI_SUCCESS;
  for (std::size_t i = 0; i < static_cast<std::size_t>(over); ++i) {
    const MPI_Status& status = r.statuses[i];
    // The status of each says how it ended only where MPI reports an error
    // among them.
    r.completions.push_back(completion_of(
        r.owners[static_cast<std::size_t>(r.indices[i])], status,
        error == MPI_ERR_IN_STATUS ? status.MPI_ERROR : MPI_SUCCESS));
  }
  r.remove_over();
  *completions = r.completions.data();
  *count = over;
  return MPI_SUCCESS;
}

int test(void* owner, int* is_over) {
  Requests& r = pending();
  MPI_Request* request = r.find(owner);
  *is_over = 1;
  // A request that is not here any more was over before.
  if (request == nullptr) return MPI_SUCCESS;
  const int error = MPI_Test(request, is_over, MPI_STATUS_IGNORE);
  r.remove_over();
  return error;
}

int cancel_receive(void* owner) {
  Requests& r = pending();
  MPI_Request* request = r.find(owner);
  if (request == nullptr) return MPI_SUCCESS;
  int error = MPI_Cancel(request);
  // Ends at once, or with the message if that is arriving just now.
  if (error == MPI_SUCCESS) error = MPI_Wait(request, MPI_STATUS_IGNORE);
  r.remove_over();
  return error;
}

int close_world() {
  // Nobody gives up memory that another rank may still read.
  int error = MPI_Barrier(world());
  if (error == MPI_SUCCESS) error = MPI_Win_free(&window());
  if (error == MPI_SUCCESS) error = MPI_Comm_free(&world());
  return error == MPI_SUCCESS ? MPI_Finalize() : error;
}

void error_text(int error, char* text, std::size_t size) {
  char full[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(error, full, &length);
  std::strncpy(text, full, size - 1);
  text[size - 1] = '\0';
}

}  // namespace
}  // namespace weft

extern "C" const weft::MpiFunctions* weft_mpi_functions() {
  using namespace weft;
  static const MpiFunctions functions = {
      open_world, host_names, share,          send,        receive,
      poll,       test,       cancel_receive, close_world, error_text};
  return &functions;
}
