// Loops on vectors of 8 lanes. AVX2 has no masks: comparisons give lanes of
// ones, and the elements that do not fill a vector run one at a time, each in
// the lowest lane.
#include "weft/kernels/loop/generate/generated_loop.h"
#include "weft/kernels/loop/generate/generator.h"

namespace weft {
namespace {

using Xbyak::Xmm;
using Xbyak::Ymm;

class Avx2Generator : public LoopGenerator<Avx2Generator, Ymm, /*kLanes=*/8> {
 public:
  Avx2Generator(const LoopProgram& program, std::span<const CodeOperand> inputs,
                LoopStores stores)
      : LoopGenerator(program, inputs, stores, /*registers=*/16) {}

  void begin() { mask_ = take(); }

  // A whole vector could read behind an operand, and write behind a result.
  void rest() {
    Xbyak::Label next;
    Xbyak::Label done;
    L(next);
    cmp(rax, rsi);
    jge(done, T_NEAR);
    body(Part::kRest);
    inc(rax);
    jmp(next, T_NEAR);
    L(done);
  }

  void load(const Ymm& y, DType dtype, const Reg64& from, Part part) {
    if (part == Part::kRest) return load_one(y, dtype, from);
    switch (dtype) {
      case DType::kBF16:
        // bf16 is the upper half of an f32.
        vpmovzxwd(y, ptr[from + rax * 2]);
        vpslld(y, y, 16);
        break;
      case DType::kF16:
        vcvtph2ps(y, ptr[from + rax * 2]);
        break;
      case DType::kBool:
      case DType::kU8:
        vpmovzxbd(y, ptr[from + rax]);
        vcvtdq2ps(y, y);
        break;
      case DType::kI8:
        vpmovsxbd(y, ptr[from + rax]);
        vcvtdq2ps(y, y);
        break;
      case DType::kI32:
        vcvtdq2ps(y, ptr[from + rax * 4]);
        break;
      default:
        vmovups(y, ptr[from + rax * 4]);
    }
  }

  void store(const Ymm& x, DType dtype, const Reg64& to, Part part) {
    if (dtype == DType::kF32) {
      if (part == Part::kWhole)
        vmovups(ptr[to + rax * 4], x);
      else
        vmovss(ptr[to + rax * 4], low(x));
      return;
    }
    const Ymm narrow = take();
    if (size_of(dtype) == 1) {
      if (dtype == DType::kBool)
        truth_bytes(narrow, x);
      else
        integer_bytes(narrow, x);
      if (part == Part::kWhole)
        vmovq(ptr[to + rax], low(narrow));
      else
        vpextrb(ptr[to + rax], low(narrow), 0);
    } else {
      if (dtype == DType::kF16)
        vcvtps2ph(low(narrow), x, kToNearest);
      else
        round_bf16(narrow, x);
      if (part == Part::kWhole)
        vmovups(ptr[to + rax * 2], low(narrow));
      else
        vpextrw(ptr[to + rax * 2], low(narrow), 0);
    }
    give(narrow);
  }

  void emit_special(const LoopProgram::Instruction& instruction, const Ymm& y,
                    const std::array<Ymm, 3>& x) {
    const Ymm& a = x[0];
    const Ymm& b = x[1];
    switch (instruction.code) {
      case Opcode::kWhere:
        // Predicate 4 is "not equal", which is true for NaN, as in C++.
        vcmpps(mask_, a, zero_, 4);
        return vblendvps(y, x[2], b, mask_);
      case Opcode::kNegate:
        // The sign bit is turned: zero less x would make +0 of -(+0).
        return vxorps(y, a, ptr[rip + sign_bits_]);
      case Opcode::kAbs:
        return vandps(y, a, ptr[rip + other_bits_]);
      case Opcode::kRsqrt:
        vsqrtps(mask_, a);
        vmovaps(y, ptr[rip + ones_]);
        // The instruction for it is an approximation, and results are to be
        // those of the tile functions.
        return vdivps(y, y, mask_);
      case Opcode::kFloor:
        return vroundps(y, a, 1);  // mode 1 rounds down
      case Opcode::kCeil:
        return vroundps(y, a, 2);
      case Opcode::kRound:
        return vroundps(y, a, kToNearest);
      case Opcode::kToBf16:
        round_bf16(y, a);
        vpmovzxwd(y, low(y));
        return vpslld(y, y, 16);
      case Opcode::kToF16:
        vcvtps2ph(low(y), a, kToNearest);
        return vcvtph2ps(y, low(y));
      default:
        WEFT_CHECK(false, "no instructions for {}",
                   static_cast<int>(instruction.code));
    }
  }

  void compare(const Ymm& y, const Ymm& a, const Ymm& b, int predicate) {
    vcmpps(y, a, b, static_cast<std::uint8_t>(predicate));
    // A comparison gives lanes of ones. A truth is the number 1, whose bits are
    // kept of them.
    vandps(y, y, ptr[rip + ones_]);
  }

  void keep_nan(const Ymm& y, const Ymm& a) {
    // Predicate 3 is "unordered": a number is so with itself only if it is NaN.
    vcmpps(mask_, a, a, 3);
    vblendvps(y, y, a, mask_);
  }

  void clear_nan(const Ymm& y) {
    // Predicate 7 is "ordered". The mask makes 0 of NaN.
    vcmpps(mask_, y, y, 7);
    vandps(y, y, mask_);
  }

  void logic(Opcode code, const Ymm& y, const Ymm& a, const Ymm& b) {
    vcmpps(mask_, a, zero_, 4);
    vcmpps(y, b, zero_, 4);
    if (code == Opcode::kAnd)
      vandps(y, y, mask_);
    else if (code == Opcode::kOr)
      vorps(y, y, mask_);
    else
      vxorps(y, y, mask_);
    vandps(y, y, ptr[rip + ones_]);
  }

  // Whole vectors of the numbers that the code reads.
  void data() {
    align(32);
    vector_of(ones_, std::bit_cast<std::uint32_t>(1.0f));
    vector_of(sign_bits_, 0x80000000u);
    vector_of(other_bits_, 0x7fffffffu);
    vector_of(lowest_bits_, 1);
    vector_of(below_half_, 0x7fff);
    vector_of(quiet_bits_, 0x400000);
    vector_of(low_bytes_, 0xff);
  }

 private:
  static Xmm low(const Ymm& y) { return Xmm(y.getIdx()); }

  void vector_of(Xbyak::Label& label, std::uint32_t bits) {
    L(label);
    for (int lane = 0; lane < kLanes; ++lane) dd(bits);
  }

  // rcx is free: nothing that needs it is live while a value is loaded.
  void load_one(const Ymm& y, DType dtype, const Reg64& from) {
    switch (dtype) {
      case DType::kBF16:
        movzx(ecx, word[from + rax * 2]);
        shl(ecx, 16);
        vmovd(low(y), ecx);
        break;
      case DType::kF16:
        movzx(ecx, word[from + rax * 2]);
        vmovd(low(y), ecx);
        vcvtph2ps(low(y), low(y));
        break;
      case DType::kBool:
      case DType::kU8:
        movzx(ecx, byte[from + rax]);
        vmovd(low(y), ecx);
        vcvtdq2ps(low(y), low(y));
        break;
      case DType::kI8:
        movsx(ecx, byte[from + rax]);
        vmovd(low(y), ecx);
        vcvtdq2ps(low(y), low(y));
        break;
      case DType::kI32:
        vmovd(low(y), ptr[from + rax * 4]);
        vcvtdq2ps(low(y), low(y));
        break;
      default:
        vmovss(low(y), ptr[from + rax * 4]);
    }
  }

  // The words or bytes of both halves of a vector lie apart after a pack; this
  // puts them side by side into the lower half.
  void join_halves(const Ymm& y) { vpermq(y, y, 0b11011000); }

  void truth_bytes(const Ymm& narrow, const Ymm& x) {
    vcmpps(narrow, x, zero_, 4);
    // A lane of ones becomes 1.
    vpsrld(narrow, narrow, 31);
    pack_bytes(narrow);
  }

  // The numbers are of i8 or u8 already.
  void integer_bytes(const Ymm& narrow, const Ymm& x) {
    vcvtps2dq(narrow, x);
    // Packing makes 0 of negative lanes, so that an i8 is cut to its low byte
    // before.
    vpand(narrow, narrow, ptr[rip + low_bytes_]);
    pack_bytes(narrow);
  }

  // Makes words of at most 255 bytes of the lower half.
  void pack_bytes(const Ymm& narrow) {
    vpackusdw(narrow, narrow, narrow);
    join_halves(narrow);
    vpackuswb(low(narrow), low(narrow), low(narrow));
  }

  // The bf16 nearest to each lane of x, as words of the lower half of `narrow`:
  // (x + 0x7fff + odd) >> 16, and a quiet NaN for a NaN.
  void round_bf16(const Ymm& narrow, const Ymm& x) {
    vpsrld(narrow, x, 16);
    vpand(narrow, narrow, ptr[rip + lowest_bits_]);
    vpaddd(narrow, narrow, ptr[rip + below_half_]);
    vpaddd(narrow, narrow, x);
    // Adding to a NaN's bits could carry into its exponent and sign, and make a
    // number of it.
    const Ymm quiet = take();
    vorps(quiet, x, ptr[rip + quiet_bits_]);
    vcmpps(mask_, x, x, 3);
    vblendvps(narrow, narrow, quiet, mask_);
    give(quiet);
    vpsrld(narrow, narrow, 16);
    vpackusdw(narrow, narrow, narrow);
    join_halves(narrow);
  }

  Xbyak::Label ones_;
  Xbyak::Label sign_bits_;
  Xbyak::Label other_bits_;
  Xbyak::Label lowest_bits_;
  Xbyak::Label below_half_;
  Xbyak::Label quiet_bits_;
  Xbyak::Label low_bytes_;
  Ymm mask_;  // the outcome of a comparison, for a moment
};

}  // namespace

std::unique_ptr<LoopCode> compile_avx2(const LoopProgram& program,
                                       std::span<const CodeOperand> inputs,
                                       LoopStores stores) {
  return std::make_unique<GeneratedLoop<Avx2Generator>>(program, inputs,
                                                        stores);
}

}  // namespace weft
