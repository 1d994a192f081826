// Loops on vectors of 16 lanes. What is left at the end runs under the mask k7;
// k1 and k2 hold the outcome of comparisons.
#include "weft/kernels/loop/generate/generated_loop.h"
#include "weft/kernels/loop/generate/generator.h"

namespace weft {
namespace {

using Xbyak::Ymm;
using Xbyak::Zmm;

class Avx512Generator
    : public LoopGenerator<Avx512Generator, Zmm, /*kLanes=*/16> {
 public:
  Avx512Generator(const LoopProgram& program,
                  std::span<const CodeOperand> inputs, LoopStores stores)
      : LoopGenerator(program, inputs, stores, /*registers=*/32) {}

  void begin() { one_ = constant(1.0f); }

  void rest() {
    Xbyak::Label done;
    // rsi is the size, and rax how far the loop has come.
    mov(rcx, rsi);
    sub(rcx, rax);
    jz(done, T_NEAR);
    // The mask has a bit for each of the fewer than 16 elements that are left.
    mov(edx, 1);
    shl(edx, cl);
    dec(edx);
    kmovw(k7, edx);
    body(Part::kRest);
    L(done);
  }

  void load(const Zmm& y, DType dtype, const Reg64& from, Part part) {
    switch (dtype) {
      case DType::kBF16:
        // bf16 is the upper half of an f32. Lanes behind the end are not read,
        // and are 0.
        vpmovzxwd(masked(y, part), ptr[from + rax * 2]);
        vpslld(y, y, 16);
        break;
      case DType::kF16:
        vcvtph2ps(masked(y, part), ptr[from + rax * 2]);
        break;
      case DType::kBool:
      case DType::kU8:
        vpmovzxbd(masked(y, part), ptr[from + rax]);
        vcvtdq2ps(y, y);
        break;
      case DType::kI8:
        vpmovsxbd(masked(y, part), ptr[from + rax]);
        vcvtdq2ps(y, y);
        break;
      case DType::kI32:
        vcvtdq2ps(masked(y, part), ptr[from + rax * 4]);
        break;
      default:
        vmovups(masked(y, part), ptr[from + rax * 4]);
    }
  }

  void store(const Zmm& x, DType dtype, const Reg64& to, Part part) {
    const auto place = [&](int bytes) {
      const Xbyak::Address address = ptr[to + rax * bytes];
      return part == Part::kRest ? address | k7 : address;
    };
    if (dtype == DType::kBF16) {
      const Zmm words = take();
      round_bf16(words, x);
      vpsrld(words, words, 16);
      vpmovdw(Ymm(words.getIdx()), words);
      vmovdqu16(place(2), Ymm(words.getIdx()));
      give(words);
    } else if (dtype == DType::kF16) {
      vcvtps2ph(place(2), x, kToNearest);
    } else if (dtype == DType::kBool) {
      const Xbyak::Xmm truth(take().getIdx());
      vcmpps(k1, x, zero_, 4);
      vmovdqu8(truth | k1 | T_z, ptr[rip + ones_]);
      vmovdqu8(place(1), truth);
      give(Zmm(truth.getIdx()));
    } else if (dtype == DType::kI8 || dtype == DType::kU8) {
      // The numbers are of the dtype already.
      const Zmm words = take();
      vcvtps2dq(words, x);
      vpmovdb(place(1), words);
      give(words);
    } else {
      vmovups(place(4), x);
    }
  }

  void emit_special(const LoopProgram::Instruction& instruction, const Zmm& y,
                    const std::array<Zmm, 3>& x) {
    const Zmm& a = x[0];
    const Zmm& b = x[1];
    switch (instruction.code) {
      case Opcode::kWhere:
        // Predicate 4 is "not equal", which is true for NaN, as in C++.
        vcmpps(k1, a, zero_, 4);
        return vblendmps(y | k1, x[2], b);
      case Opcode::kNegate:
        // The sign bit is turned: zero less x would make +0 of -(+0).
        return vpxord(y, a, ptr_b[place_of(0x80000000u)]);
      case Opcode::kAbs:
        return vpandd(y, a, ptr_b[place_of(0x7fffffffu)]);
      case Opcode::kRsqrt:
        vsqrtps(y, a);
        // The instruction for it is an approximation, and results are to be
        // those of the tile functions.
        return vdivps(y, one_, y);
      case Opcode::kFloor:
        return vrndscaleps(y, a, 1);  // mode 1 rounds down
      case Opcode::kCeil:
        return vrndscaleps(y, a, 2);
      case Opcode::kRound:
        return vrndscaleps(y, a, kToNearest);
      case Opcode::kToBf16:
        round_bf16(y, a);
        return vpandd(y, y, ptr_b[place_of(0xffff0000u)]);
      case Opcode::kToF16:
        vcvtps2ph(Ymm(y.getIdx()), a, kToNearest);
        return vcvtph2ps(y, Ymm(y.getIdx()));
      default:
        WEFT_CHECK(false, "no instructions for {}",
                   static_cast<int>(instruction.code));
    }
  }

  void compare(const Zmm& y, const Zmm& a, const Zmm& b, int predicate) {
    vcmpps(k1, a, b, static_cast<std::uint8_t>(predicate));
    vmovaps(y | k1 | T_z, one_);
  }

  void keep_nan(const Zmm& y, const Zmm& a) {
    // Predicate 3 is "unordered": a number is so with itself only if it is NaN.
    vcmpps(k1, a, a, 3);
    vmovaps(y | k1, a);
  }

  void clear_nan(const Zmm& y) {
    // Predicate 7 is "ordered". Lanes of NaN become 0.
    vcmpps(k1, y, y, 7);
    vmovaps(y | k1 | T_z, y);
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

  void data() {
    align(16);
    L(ones_);
    for (int byte = 0; byte < kLanes; ++byte) db(1);
  }

 private:
  Zmm masked(const Zmm& y, Part part) const {
    return part == Part::kRest ? y | k7 | T_z : y;
  }

  // The bf16 nearest to each lane of x, in the upper half of a lane of y, and a
  // quiet NaN for a NaN; the lower half counts for nothing. The processor's own
  // instruction takes subnormal numbers for zero, and a branch to where they
  // are rounded otherwise would wait for each operand that comes from memory.
  void round_bf16(const Zmm& y, const Zmm& x) {
    // Half a unit less one bit carries where the lower half is more than half a
    // unit; where it is half, the bit that makes an odd number even does.
    vptestmd(k1, x, ptr_b[place_of(0x10000)]);
    vpaddd(y, x, ptr_b[place_of(0x7fff)]);
    vpaddd(y | k1, y, ptr_b[place_of(1)]);
    // Adding to a NaN's bits could carry into its exponent and sign, and make a
    // number of it.
    vcmpps(k1, x, x, 3);
    vpord(y | k1, x, ptr_b[place_of(0x400000)]);
  }

  Xbyak::Label ones_;  // a byte for each lane
  Zmm one_;
};

}  // namespace

std::unique_ptr<LoopCode> compile_avx512(const LoopProgram& program,
                                         std::span<const CodeOperand> inputs,
                                         LoopStores stores) {
  return std::make_unique<GeneratedLoop<Avx512Generator>>(program, inputs,
                                                          stores);
}

}  // namespace weft
