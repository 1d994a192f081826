// What machine code for a loop consists of, whatever the vectors are:
//
//   for (i = 0; i + kLanes <= size; i += kLanes) { body }   // whole vectors
//   the body for the elements that are left
//
// The body loads each operand at its first use, computes, and stores all
// results at its end: so a result may overwrite an operand that is read at the
// same place.
//
// A generator for an instruction set derives from LoopGenerator, says how its
// vectors are loaded, stored and compared, and calls generate().
#pragma once

#define XBYAK_NO_OP_NAMES
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <vector>
#include <xbyak/xbyak.h>

#include "weft/kernels/loop/loop_code.h"

namespace weft {

constexpr int kToNearest = 0;  // tells a rounding that ties go to even

// Thrown by a generator when registers run out.
struct OutOfRegisters {};

// Which elements the body is generated for.
enum class Part { kWhole, kRest };

// Derived has, for vectors of its own kind:
//   void begin();                 constants that it needs in registers
//   void rest();                  the elements that do not fill a vector, by
//                                 body(Part::kRest)
//   void load(y, dtype, from, Part), void store(x, dtype, to, Part);
//   void compare(y, a, b, predicate);  1 or 0 in every lane
//   void keep_nan(y, a);          the NaN of a in the place of y
//   void logic(code, y, a, b);    of numbers, 0 being false
//   void clear_nan(y);            0 in the place of NaN
//   void emit_special(instruction, y, x);  what emit() leaves to it
//   void data();                  what its code reads, behind the code
// Loads and stores leave rdx alone, which may be the pointer.
template <class Derived, class Vector_, int kLanes_>
class LoopGenerator : public Xbyak::CodeGenerator {
 public:
  using Vector = Vector_;
  using Reg64 = Xbyak::Reg64;
  static constexpr int kLanes = kLanes_;

  // Throws OutOfRegisters, or Xbyak::Error if the buffer is full.
  void generate() {
    count_uses();
    prologue();
    loop();
    epilogue();
    self().data();
    words();
    ready();
  }

 protected:
  static constexpr std::size_t kCodeBytes = std::size_t{32} * 1024;

  Vector take() {
    if (free_.empty()) throw OutOfRegisters{};
    const int index = free_.back();
    free_.pop_back();
    return Vector(index);
  }
  void give(const Vector& reg) { free_.push_back(reg.getIdx()); }

  // Where the word lies behind the code.
  Xbyak::RegRip place_of(std::uint32_t word) { return rip + words_[word]; }

  // Puts a word in every lane. It is loaded, since a move from a general
  // register takes longer.
  void broadcast(const Vector& y, std::uint32_t word) {
    vbroadcastss(y, ptr[place_of(word)]);
  }

  Vector constant(double value) {
    const Vector reg = take();
    broadcast(reg, bits_of(value));
    return reg;
  }

  void body(Part part) {
    // The body is generated twice, and each time begins with the registers that
    // are free outside of it.
    const auto outside = free_;
    values_ = constants_;
    left_ = uses_;
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      if (!folded_.contains(i)) compute(i, part);
    }
    // An operand that goes straight to an output is loaded before any store.
    for (const auto& output : program_.outputs) value(output.operand, part);
    for (std::size_t j = 0; j < program_.outputs.size(); ++j) finish(j, part);
    folded_.clear();
    free_ = outside;
  }

  Vector zero_;

 private:
  // Only Derived makes one.
  friend Derived;
  LoopGenerator(const LoopProgram& program, std::span<const CodeOperand> inputs,
                LoopStores stores, int registers)
      : CodeGenerator(kCodeBytes),
        program_(program),
        inputs_(inputs),
        stores_(stores),
        free_(static_cast<std::size_t>(registers)),
        most_constants_(static_cast<std::size_t>(registers) / 4) {
    std::iota(free_.begin(), free_.end(), 0);
  }

  static std::uint32_t bits_of(double number) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(number));
  }
  Derived& self() { return static_cast<Derived&>(*this); }

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
    vxorps(Xbyak::Xmm(zero_.getIdx()), Xbyak::Xmm(zero_.getIdx()),
           Xbyak::Xmm(zero_.getIdx()));  // the upper lanes become zero, too
    self().begin();
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      const auto& input = program_.inputs[i];
      // Constants hold a register for the whole loop. Those beyond a quarter of
      // the registers are read from a buffer, like other operands.
      if (!input.immediate || constants_.size() >= most_constants_) continue;
      constants_[static_cast<int>(i)] = constant(*input.immediate);
    }
  }

  void loop() {
    Xbyak::Label next;
    Xbyak::Label rest;
    L(next);
    lea(rdx, ptr[rax + kLanes]);
    cmp(rdx, rsi);
    // The body may be longer than a short jump reaches.
    jg(rest, T_NEAR);
    body(Part::kWhole);
    add(rax, kLanes);
    jmp(next, T_NEAR);
    L(rest);
    self().rest();
  }

  void epilogue() {
    // The caller's code may use SSE, which is slow while upper halves are in
    // use.
    vzeroupper();
    for (auto reg = saved_.rbegin(); reg != saved_.rend(); ++reg) pop(*reg);
    ret();
  }

  void words() {
    align(4);
    for (auto& [word, label] : words_) {
      L(label);
      dd(word);
    }
  }

  // --- Values ---------------------------------------------------------------
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

  Vector value(int number, Part part) {
    const auto found = values_.find(number);
    if (found != values_.end()) return found->second;
    const Vector reg = take();
    const auto index = static_cast<std::size_t>(number);
    if (inputs_[index].is_single)
      vbroadcastss(reg, ptr[base(index)]);
    else
      self().load(reg, inputs_[index].dtype, base(index), part);
    return values_[number] = reg;
  }

  // It is called once per reading of a value; frees its register after the
  // last.
  void release(int number) {
    if (--left_[static_cast<std::size_t>(number)] > 0) return;
    // Constants stay for the next round.
    if (constants_.contains(number)) return;
    give(values_.at(number));
    values_.erase(number);
  }

  void finish(std::size_t j, Part part) {
    const auto& output = program_.outputs[j];
    const Vector x = value(output.operand, part);
    const Reg64 to = base(program_.inputs.size() + j);
    if (output.is_sum) {
      // Accumulators are f32 whatever the output is: finish_sums() rounds them
      // once.
      const Vector sum = take();
      self().load(sum, DType::kF32, to, part);
      vaddps(sum, sum, x);
      self().store(sum, DType::kF32, to, part);
      give(sum);
    } else if (stores_ == LoopStores::kStreamed && part == Part::kWhole &&
               output.type.dtype == DType::kF32) {
      vmovntps(ptr[to + rax * 4], x);
    } else {
      self().store(x, output.type.dtype, to, part);
    }
    release(output.operand);
  }

  // A product that only the next sum or difference reads becomes one
  // multiply-add.
  bool fold_product(std::size_t i, Part part) {
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
      const Vector a = value(product.operands[0], part);
      const Vector b = value(product.operands[1], part);
      const Vector c = value(other, part);
      const Vector result = take();
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

  void compute(std::size_t i, Part part) {
    if (fold_product(i, part)) return;
    const auto& instruction = program_.instructions[i];
    std::array<Vector, 3> x;
    for (std::size_t n = 0; n < instruction.operands.size(); ++n) {
      x[n] = value(instruction.operands[n], part);
    }
    // The operands are released only afterwards: an op may read one after it
    // has begun to write.
    const Vector y = take();
    emit(instruction, y, x);
    for (const int operand : instruction.operands) release(operand);
    values_[static_cast<int>(program_.inputs.size() + i)] = y;
  }

  // What every instruction set does in the same way. The numbers of comparisons
  // are the predicates of vcmpps; 4 is "unordered or not equal".
  void emit(const LoopProgram::Instruction& instruction, const Vector& y,
            const std::array<Vector, 3>& x) {
    const Vector& a = x[0];
    switch (instruction.code) {
      case Opcode::kAdd:
        return vaddps(y, a, x[1]);
      case Opcode::kSubtract:
        return vsubps(y, a, x[1]);
      case Opcode::kMultiply:
        return vmulps(y, a, x[1]);
      case Opcode::kDivide:
        return vdivps(y, a, x[1]);
      case Opcode::kMaximum:
        // vmaxps returns its second operand if either is NaN, so only a NaN of
        // the first has to be put back.
        vmaxps(y, a, x[1]);
        return self().keep_nan(y, a);
      case Opcode::kMinimum:
        vminps(y, a, x[1]);
        return self().keep_nan(y, a);
      case Opcode::kEqual:
        return self().compare(y, a, x[1], 0);
      case Opcode::kNotEqual:
        return self().compare(y, a, x[1], 4);
      case Opcode::kLess:
        return self().compare(y, a, x[1], 1);
      case Opcode::kLessEqual:
        return self().compare(y, a, x[1], 2);
      case Opcode::kGreater:
        return self().compare(y, x[1], a, 1);
      case Opcode::kGreaterEqual:
        return self().compare(y, x[1], a, 2);
      case Opcode::kNot:
        return self().compare(y, a, zero_, 0);
      case Opcode::kToBool:
        return self().compare(y, a, zero_, 4);
      case Opcode::kIsNan:
        return self().compare(y, a, a, 3);
      case Opcode::kIsFinite:
        // Infinity less itself is NaN, which equals nothing.
        vsubps(y, a, a);
        return self().compare(y, y, zero_, 0);
      case Opcode::kSign:
        return sign(y, a);
      case Opcode::kAnd:
      case Opcode::kOr:
      case Opcode::kXor:
        return self().logic(instruction.code, y, a, x[1]);
      case Opcode::kSqrt:
        return vsqrtps(y, a);
      case Opcode::kSquare:
        return vmulps(y, a, a);
      case Opcode::kRelu:
        // A NaN comes out, as it is the second operand.
        return vmaxps(y, zero_, a);
      case Opcode::kCopy:
        return vmovaps(y, a);
      case Opcode::kClamp:
        return clamp(instruction.parameters[0], instruction.parameters[1], y,
                     a);
      case Opcode::kToI8:
        return saturate(-128, 127, y, a);
      case Opcode::kToU8:
        return saturate(0, 255, y, a);
      default:
        self().emit_special(instruction, y, x);
    }
  }

  void sign(const Vector& y, const Vector& x) {
    const Vector is_negative = take();
    self().compare(y, zero_, x, 1);
    self().compare(is_negative, x, zero_, 1);
    vsubps(y, y, is_negative);
    give(is_negative);
    self().keep_nan(y, x);
  }

  void clamp(double low, double high, const Vector& y, const Vector& x) {
    broadcast(y, bits_of(low));
    // The value is the second operand of both, so that a NaN stays one.
    vmaxps(y, y, x);
    const Vector most = constant(high);
    vminps(y, most, y);
    give(most);
  }

  void saturate(double least, double most, const Vector& y, const Vector& x) {
    clamp(least, most, y, x);
    self().clear_nan(y);
    // There and back: integers are truncated and have no -0.
    vcvttps2dq(y, y);
    vcvtdq2ps(y, y);
  }

  const LoopProgram& program_;
  std::span<const CodeOperand> inputs_;
  LoopStores stores_;
  const std::vector<Reg64> saved_{rbx, rbp, r12, r13, r14, r15};
  // rdi: the table, rsi: size, rax: index, rcx and rdx: scratch.
  const std::vector<Reg64> held_{r8,  r9,  r10, r11, rbx,
                                 rbp, r12, r13, r14, r15};
  std::vector<int> free_;
  std::size_t most_constants_;
  std::map<std::uint32_t, Xbyak::Label> words_;  // that the code reads
  std::map<int, Vector> constants_;  // by operand, for the whole loop
  std::map<int, Vector> values_;     // by operand, live now
  std::vector<int> uses_;            // by operand
  std::vector<int> left_;            // readings still to come
  std::set<std::size_t> folded_;     // instructions done with another
};

}  // namespace weft
