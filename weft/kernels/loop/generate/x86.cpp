// The code has the shape
//
//   for (i = 0; i + 16 <= size; i += 16) { body }      // whole vectors
//   if (i < size) { body under the mask k7 }
//
// where the body loads each operand at its first use, computes, and stores
// all results at its end: so a result may overwrite an operand that is read
// at the same place.
#define XBYAK_NO_OP_NAMES
#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <xbyak/xbyak.h>

#include "weft/base/cpu.h"
#include "weft/kernels/loop/loop_code.h"

namespace weft {
namespace {

using Xbyak::Opmask;
using Xbyak::Reg64;
using Xbyak::Ymm;
using Xbyak::Zmm;

constexpr int kLanes = 16;
constexpr int kToNearest = 0;  // tells vcvtps2ph that ties go to even
constexpr std::size_t kCodeBytes = std::size_t{32} * 1024;

bool can_store(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBF16 ||
         dtype == DType::kF16 || dtype == DType::kBool;
}
bool can_load(DType dtype) { return can_store(dtype) || dtype == DType::kU8; }

// Thrown inside this file when registers run out.
struct TooLong {};

class Generator : public Xbyak::CodeGenerator {
 public:
  Generator(const LoopProgram& program, std::span<const DType> dtypes)
      : CodeGenerator(kCodeBytes), program_(program), dtypes_(dtypes) {
    count_uses();
    prologue();
    loop();
    epilogue();
    numbers();
    ready();
  }

 private:
  // --- The frame ----------------------------------------------------------
  void prologue() {
    // System V's calling convention wants these unchanged on return.
    for (const Reg64& reg : saved_) push(reg);
    const std::size_t pointers =
        program_.inputs.size() + program_.outputs.size();
    for (std::size_t i = 0; i < std::min(pointers, held_.size()); ++i) {
      mov(held_[i], ptr[rdi + 8 * i]);
    }
    xor_(rax, rax);
    zero_ = take();
    vpxord(zero_, zero_, zero_);
    one_ = constant(1.0f);
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      const auto& input = program_.inputs[i];
      // Constants hold a register for the whole loop. Those beyond a quarter of
      // the registers are read from a buffer, like other operands.
      if (!input.immediate || constants_.size() >= 8) continue;
      constants_[static_cast<int>(i)] = constant(*input.immediate);
    }
  }

  void loop() {
    Xbyak::Label next;
    Xbyak::Label rest;
    Xbyak::Label done;
    // The body is generated twice, and each time begins with the registers that
    // are free outside of it.
    const auto outside = free_;
    L(next);
    lea(rdx, ptr[rax + kLanes]);
    cmp(rdx, rsi);
    // The body may be longer than a short jump reaches.
    jg(rest, T_NEAR);
    body(/*masked=*/false);
    add(rax, kLanes);
    jmp(next, T_NEAR);
    L(rest);
    mov(rcx, rsi);
    sub(rcx, rax);
    jz(done, T_NEAR);
    // The mask has a bit for each of the fewer than 16 elements that are left.
    mov(edx, 1);
    shl(edx, cl);
    dec(edx);
    kmovw(k7, edx);
    free_ = outside;
    body(/*masked=*/true);
    L(done);
  }

  void epilogue() {
    // The caller's code may use SSE, which is slow while upper halves are in
    // use.
    vzeroupper();
    for (auto reg = saved_.rbegin(); reg != saved_.rend(); ++reg) pop(*reg);
    ret();
  }

  // --- Registers ------------------------------------------------------------
  Zmm take() {
    if (free_.empty()) throw TooLong{};
    const int index = free_.back();
    free_.pop_back();
    return Zmm(index);
  }
  void give(const Zmm& reg) { free_.push_back(reg.getIdx()); }

  Zmm constant(float value) {
    const Zmm reg = take();
    mov(edx, std::bit_cast<std::uint32_t>(value));
    vpbroadcastd(reg, edx);
    return reg;
  }

  void count_uses() {
    const std::size_t count =
        program_.inputs.size() + program_.instructions.size();
    uses_.assign(count, 0);
    for (const auto& instruction : program_.instructions) {
      for (const int n : instruction.operands) ++use(n);
    }
    for (const auto& output : program_.outputs) ++use(output.operand);
  }
  int& use(int number) { return uses_[static_cast<std::size_t>(number)]; }

  // The base register of pointer `index`.
  Reg64 base(std::size_t index) {
    if (index < held_.size()) return held_[index];
    mov(rdx, ptr[rdi + 8 * index]);
    return rdx;
  }
  Zmm under(const Zmm& reg, bool masked) {
    return masked ? reg | k7 | T_z : reg;
  }

  // --- The body -------------------------------------------------------------
  void body(bool masked) {
    values_ = constants_;
    left_ = uses_;
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      if (folded_.contains(i)) continue;
      compute(i, masked);
    }
    // An operand that goes straight to an output is loaded before any store.
    for (const auto& output : program_.outputs) value(output.operand, masked);
    for (std::size_t j = 0; j < program_.outputs.size(); ++j) {
      finish(j, masked);
    }
    folded_.clear();
  }

  Zmm value(int number, bool masked) {
    const auto found = values_.find(number);
    if (found != values_.end()) return found->second;
    const Zmm reg = take();
    load(reg, static_cast<std::size_t>(number), masked);
    return values_[number] = reg;
  }

  // Called once per reading of a value; frees its register after the last.
  void release(int number) {
    if (--left_[static_cast<std::size_t>(number)] > 0) return;
    // Constants stay for the next round.
    if (constants_.contains(number)) return;
    give(values_.at(number));
    values_.erase(number);
  }

  void load(const Zmm& reg, std::size_t index, bool masked) {
    const Reg64 from = base(index);
    switch (dtypes_[index]) {
      case DType::kBF16:
        vpmovzxwd(under(reg, masked), ptr[from + rax * 2]);
        vpslld(reg, reg, 16);
        break;
      case DType::kF16:
        vcvtph2ps(under(reg, masked), ptr[from + rax * 2]);
        break;
      case DType::kBool:
      case DType::kU8:
        vpmovzxbd(under(reg, masked), ptr[from + rax]);
        vcvtdq2ps(reg, reg);
        break;
      default:
        vmovups(under(reg, masked), ptr[from + rax * 4]);
    }
  }

  void finish(std::size_t j, bool masked) {
    const auto& output = program_.outputs[j];
    const Zmm reg = value(output.operand, masked);
    const Reg64 to = base(program_.inputs.size() + j);
    const auto mask = [&](Xbyak::Address address) {
      return masked ? address | k7 : address;
    };
    // Accumulators are f32 whatever the output is: finish_sums() rounds them
    // once.
    if (output.is_sum) {
      const Zmm sum = take();
      vmovups(under(sum, masked), ptr[to + rax * 4]);
      vaddps(sum, sum, reg);
      vmovups(mask(ptr[to + rax * 4]), sum);
      give(sum);
    } else if (output.type.dtype == DType::kBF16) {
      const Zmm narrow = take();
      round_bf16(narrow, reg);
      vmovdqu16(mask(ptr[to + rax * 2]), Ymm(narrow.getIdx()));
      give(narrow);
    } else if (output.type.dtype == DType::kF16) {
      vcvtps2ph(mask(ptr[to + rax * 2]), reg, kToNearest);
    } else if (output.type.dtype == DType::kBool) {
      const Zmm truth = take();
      vcmpps(k1, reg, zero_, 4);
      vpternlogd(truth | k1 | T_z, truth, truth, 0xff);
      vpabsd(truth, truth);  // -1 becomes 1
      vpmovdb(mask(ptr[to + rax]), truth);
      give(truth);
    } else {
      vmovups(mask(ptr[to + rax * 4]), reg);
    }
    release(output.operand);
  }

  // The bf16 nearest to each lane of x, in the lower half of `narrow`. The
  // processor's own instruction takes subnormal numbers for zero, so it is for
  // vectors that have none.
  void round_bf16(const Zmm& narrow, const Zmm& x) {
    constexpr std::uint8_t kSubnormal = 0x20;
    const Ymm words(narrow.getIdx());
    Xbyak::Label done;
    if (has_bf16_) {
      vfpclassps(k1, x, kSubnormal);
      vcvtneps2bf16(words, x);
      kortestw(k1, k1);
      jz(done, T_NEAR);
    }
    round_by_integers(narrow, x);
    vpmovdw(words, narrow);
    L(done);
  }

  // (x + 0x7fff + odd) >> 16, and a quiet NaN for a NaN.
  // The numbers come from memory: rdx may hold the pointer that is stored to.
  void round_by_integers(const Zmm& narrow, const Zmm& x) {
    vpsrld(narrow, x, 16);
    vpandd(narrow, narrow, ptr_b[rip + lowest_bit_]);
    vpaddd(narrow, narrow, ptr_b[rip + below_half_]);
    vpaddd(narrow, narrow, x);
    vcmpps(k1, x, x, 3);
    vpord(narrow | k1, x, ptr_b[rip + quiet_bit_]);
    vpsrld(narrow, narrow, 16);
  }
  void numbers() {
    align(4);
    L(lowest_bit_);
    dd(1);
    L(below_half_);
    dd(0x7fff);
    L(quiet_bit_);
    dd(0x400000);
  }

  // A product that only the next sum or difference reads becomes one
  // multiply-add.
  bool fold_product(std::size_t i, bool masked) {
    const auto& product = program_.instructions[i];
    const int number = static_cast<int>(program_.inputs.size() + i);
    if (product.code != Opcode::kMultiply || use(number) != 1) return false;
    for (std::size_t j = i + 1; j < program_.instructions.size(); ++j) {
      const auto& reader = program_.instructions[j];
      const auto at =
          std::find(reader.operands.begin(), reader.operands.end(), number);
      if (at == reader.operands.end()) continue;
      if (reader.code != Opcode::kAdd && reader.code != Opcode::kSubtract) {
        return false;
      }
      const bool is_first = at == reader.operands.begin();
      const int other = reader.operands[is_first ? 1 : 0];
      // What it is added to must be known already, and the operation may not
      // jump over anything but what it reads.
      if (j != i + 1 || other == number) return false;
      const Zmm a = value(product.operands[0], masked);
      const Zmm b = value(product.operands[1], masked);
      const Zmm c = value(other, masked);
      const Zmm result = take();
      vmovaps(result, c);
      if (reader.code == Opcode::kAdd)
        vfmadd231ps(result, a, b);
      else if (is_first)
        vfmsub231ps(result, a, b);
      else
        vfnmadd231ps(result, a, b);
      values_[static_cast<int>(program_.inputs.size() + j)] = result;
      release(product.operands[0]);
      release(product.operands[1]);
      release(other);
      folded_.insert(j);
      return true;
    }
    return false;
  }

  void compute(std::size_t i, bool masked) {
    if (fold_product(i, masked)) return;
    const auto& instruction = program_.instructions[i];
    std::array<Zmm, 3> x;
    for (std::size_t n = 0; n < instruction.operands.size(); ++n) {
      x[n] = value(instruction.operands[n], masked);
    }
    // The operands are released only afterwards: an op may read one after it
    // has begun to write.
    const Zmm y = take();
    emit(instruction, y, x);
    for (const int operand : instruction.operands) release(operand);
    values_[static_cast<int>(program_.inputs.size() + i)] = y;
  }

  // Ordered predicates of vcmpps; 4 is "unordered or not equal".
  void compare(const Zmm& y, const Zmm& a, const Zmm& b, int predicate) {
    vcmpps(k1, a, b, static_cast<std::uint8_t>(predicate));
    vmovaps(y | k1 | T_z, one_);
  }

  void keep_nan(const Zmm& y, const Zmm& a) {
    vcmpps(k1, a, a, 3);
    vmovaps(y | k1, a);
  }

  void emit(const LoopProgram::Instruction& instruction, const Zmm& y,
            const std::array<Zmm, 3>& x) {
    const Zmm& a = x[0];
    const Zmm& b = x[1];
    switch (instruction.code) {
      case Opcode::kAdd:
        vaddps(y, a, b);
        break;
      case Opcode::kSubtract:
        vsubps(y, a, b);
        break;
      case Opcode::kMultiply:
        vmulps(y, a, b);
        break;
      case Opcode::kDivide:
        vdivps(y, a, b);
        break;
      case Opcode::kMaximum:
        // vmaxps returns its second operand if either is NaN, so only a NaN of
        // the first has to be put back.
        vmaxps(y, a, b);
        keep_nan(y, a);
        break;
      case Opcode::kMinimum:
        vminps(y, a, b);
        keep_nan(y, a);
        break;
      case Opcode::kEqual:
        compare(y, a, b, 0);
        break;
      case Opcode::kNotEqual:
        compare(y, a, b, 4);
        break;
      case Opcode::kLess:
        compare(y, a, b, 1);
        break;
      case Opcode::kLessEqual:
        compare(y, a, b, 2);
        break;
      case Opcode::kGreater:
        compare(y, b, a, 1);
        break;
      case Opcode::kGreaterEqual:
        compare(y, b, a, 2);
        break;
      case Opcode::kNot:
        compare(y, a, zero_, 0);
        break;
      case Opcode::kToBool:
        compare(y, a, zero_, 4);
        break;
      case Opcode::kAnd:
      case Opcode::kOr:
      case Opcode::kXor:
        logic(instruction.code, y, a, b);
        break;
      case Opcode::kWhere:
        vcmpps(k1, a, zero_, 4);
        vblendmps(y | k1, x[2], b);
        break;
      case Opcode::kNegate:
        // The sign bit is turned: zero less x would make +0 of -(+0).
        mov(edx, 0x80000000u);
        vpbroadcastd(y, edx);
        vpxord(y, y, a);
        break;
      case Opcode::kAbs:
        mov(edx, 0x7fffffff);
        vpbroadcastd(y, edx);
        vpandd(y, y, a);
        break;
      case Opcode::kSqrt:
        vsqrtps(y, a);
        break;
      case Opcode::kRsqrt:
        vsqrtps(y, a);
        // The instruction for it is an approximation, and results are to be
        // those of the tile functions.
        vdivps(y, one_, y);
        break;
      case Opcode::kSquare:
        vmulps(y, a, a);
        break;
      case Opcode::kRelu:
        // A NaN comes out, as it is the second operand.
        vmaxps(y, zero_, a);
        break;
      case Opcode::kFloor:
        // Mode 1 rounds down.
        vrndscaleps(y, a, 1);
        break;
      case Opcode::kClamp:
        clamp(instruction, y, a);
        break;
      case Opcode::kCopy:
        vmovaps(y, a);
        break;
      case Opcode::kToBf16:
        round_bf16(y, a);
        vpmovzxwd(y, Ymm(y.getIdx()));
        vpslld(y, y, 16);
        break;
      case Opcode::kToF16:
        vcvtps2ph(Ymm(y.getIdx()), a, kToNearest);
        vcvtph2ps(y, Ymm(y.getIdx()));
        break;
      case Opcode::kCall:
        throw TooLong{};
    }
  }

  void logic(Opcode code, const Zmm& y, const Zmm& a, const Zmm& b) {
    vcmpps(k1, a, zero_, 4);
    vcmpps(k2, b, zero_, 4);
    if (code == Opcode::kAnd)
      kandw(k1, k1, k2);
    else if (code == Opcode::kOr)
      korw(k1, k1, k2);
    else
      kxorw(k1, k1, k2);
    vmovaps(y | k1 | T_z, one_);
  }

  void clamp(const LoopProgram::Instruction& instruction, const Zmm& y,
             const Zmm& x) {
    mov(edx, std::bit_cast<std::uint32_t>(instruction.parameters[0]));
    vpbroadcastd(y, edx);
    // The value is the second operand of both, so that a NaN stays one.
    vmaxps(y, y, x);
    const Zmm high = take();
    mov(edx, std::bit_cast<std::uint32_t>(instruction.parameters[1]));
    vpbroadcastd(high, edx);
    vminps(y, high, y);
    give(high);
  }

  const LoopProgram& program_;
  std::span<const DType> dtypes_;
  const bool has_bf16_ = instruction_set() >= InstructionSet::kAvx512Bf16;
  const std::vector<Reg64> saved_{rbx, rbp, r12, r13, r14, r15};
  // rdi: the table, rsi: size, rax: index, rcx and rdx: scratch.
  const std::vector<Reg64> held_{r8,  r9,  r10, r11, rbx,
                                 rbp, r12, r13, r14, r15};
  std::vector<int> free_ = [] {
    std::vector<int> all;
    for (int i = 0; i < 32; ++i) all.push_back(i);
    return all;
  }();
  Xbyak::Label lowest_bit_;  // numbers() that rounding reads
  Xbyak::Label below_half_;
  Xbyak::Label quiet_bit_;
  Zmm zero_;
  Zmm one_;
  std::map<int, Zmm> constants_;  // by operand, for the whole loop
  std::map<int, Zmm> values_;     // by operand, live now
  std::vector<int> uses_;         // by operand
  std::vector<int> left_;         // readings still to come
  std::set<std::size_t> folded_;  // instructions done with another
};

class X86LoopCode : public LoopCode {
 public:
  X86LoopCode(const LoopProgram& program, std::span<const DType> dtypes)
      : generator_(program, dtypes),
        function_(generator_.getCode<Function>()) {}

  void run(void* const* pointers, std::int64_t size) const noexcept override {
    function_(pointers, size);
  }

 private:
  using Function = void (*)(void* const*, std::int64_t);

  Generator generator_;
  Function function_;
};

}  // namespace

std::unique_ptr<LoopCode> LoopCode::compile(
    const LoopProgram& program, std::span<const DType> input_dtypes) {
  const bool can =
      instruction_set() >= InstructionSet::kAvx512 &&
      std::all_of(input_dtypes.begin(), input_dtypes.end(), can_load) &&
      std::all_of(program.outputs.begin(), program.outputs.end(),
                  [](const auto& output) {
                    return output.is_sum || can_store(output.type.dtype);
                  }) &&
      std::none_of(program.instructions.begin(), program.instructions.end(),
                   [](const auto& instruction) {
                     return instruction.code == Opcode::kCall;
                   });
  if (!can) return nullptr;
  try {
    return std::make_unique<X86LoopCode>(program, input_dtypes);
  } catch (const TooLong&) {
    return nullptr;
  } catch (const Xbyak::Error&) {  // code buffer full, or no executable memory
    return nullptr;
  }
}

}  // namespace weft
