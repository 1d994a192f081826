// Collectives work in place, so what an op reads is first put where its result
// is due.
#include <cstring>

#include "weft/graph/collectives.h"
#include "weft/kernels/cpu/function_kernel.h"

namespace weft {
namespace {

std::optional<std::string> collective_declines(const OpCall& call) {
  // The reference copies, which is all that a group of one has to do.
  if (meets_other_ranks(call.op, call.attributes)) return std::nullopt;
  return "groups of one member need no network";
}

void copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

std::byte* byte_at(void* base, std::size_t offset) {
  return static_cast<std::byte*>(base) + offset;
}

// Where the part of this rank starts, in bytes.
std::size_t part_offset(const Collectives& network, const RankGroups& groups,
                        const TensorType& part) {
  return static_cast<std::size_t>(groups.position_of(network.rank())) *
         part.bytes();
}

// A kernel of body(network, buffers). Whoever runs it has checked that there
// is a network (require_collectives), and asks it for failures afterwards.
template <class Body>
std::unique_ptr<PreparedKernel> make_collective(Body body,
                                                std::size_t scratch_bytes = 0) {
  return make_kernel(
      [body = std::move(body)](const KernelBuffers& buffers) {
        Collectives& network = *current_collectives();
        // A kernel must not throw: the network keeps the failure.
        network.attempt([&] { body(network, buffers); });
      },
      scratch_bytes);
}

std::unique_ptr<PreparedKernel> prepare_all_reduce(const OpCall& call) {
  return make_collective(
      [groups = RankGroups::of(call.attributes), type = call.input(0)](
          Collectives& network, const KernelBuffers& buffers) {
        copy(buffers.outputs[0], buffers.inputs[0], type.bytes());
        network.all_reduce({type, buffers.outputs[0]}, groups);
      });
}

std::unique_ptr<PreparedKernel> prepare_reduce_scatter(const OpCall& call) {
  return make_collective(
      [groups = RankGroups::of(call.attributes), whole = call.input(0),
       part = call.outputs[0]](Collectives& network,
                               const KernelBuffers& buffers) {
        // The sum is formed over the whole operand, which is not to be
        // overwritten, and the result has room for a part of it.
        copy(buffers.scratch, buffers.inputs[0], whole.bytes());
        network.reduce_scatter({whole, buffers.scratch}, groups);
        copy(buffers.outputs[0],
             byte_at(buffers.scratch, part_offset(network, groups, part)),
             part.bytes());
      },
      call.input(0).bytes());
}

std::unique_ptr<PreparedKernel> prepare_all_gather(const OpCall& call) {
  return make_collective(
      [groups = RankGroups::of(call.attributes), part = call.input(0),
       whole = call.outputs[0]](Collectives& network,
                                const KernelBuffers& buffers) {
        // The others' parts arrive around it.
        copy(byte_at(buffers.outputs[0], part_offset(network, groups, part)),
             buffers.inputs[0], part.bytes());
        network.all_gather({whole, buffers.outputs[0]}, groups);
      });
}

}  // namespace

void register_cpu_collective(KernelRegistry& kernels) {
  kernels.add({"all_reduce", "cpu:network", 10, collective_declines,
               prepare_all_reduce});
  kernels.add({"reduce_scatter", "cpu:network", 10, collective_declines,
               prepare_reduce_scatter});
  kernels.add({"all_gather", "cpu:network", 10, collective_declines,
               prepare_all_gather});
}

}  // namespace weft
