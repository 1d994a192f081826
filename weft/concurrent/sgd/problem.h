// What is minimized: a mean F(x) over samples, of which each iteration draws
// one and follows the gradient of that one alone.
//
// Which sample an iteration draws, and what noise comes with it, follow from
// the iteration's number: threads share the numbers, and so the samples,
// without talking about them, and a run on one thread is a function of its
// seed.
//
// Threads: all functions are called by all threads at once.
#pragma once

#include <cstdint>
#include <span>

namespace weft::concurrent {

template <class Number>
class SgdProblem {
 public:
  SgdProblem() = default;
  virtual ~SgdProblem() = default;
  SgdProblem(const SgdProblem&) = delete;
  SgdProblem& operator=(const SgdProblem&) = delete;

  virtual std::uint32_t dimensions() const = 0;
  virtual std::uint64_t sample(std::uint64_t iteration) const = 0;
  // The entries of x that the sample's gradient depends on and reaches,
  // ascending; empty where these are all.
  virtual std::span<const std::uint32_t> support(
      std::uint64_t /*sample*/) const {
    return {};
  }
  // Writes the gradient at `view`; both have an entry for each of support(), or
  // for all. The view may mix values of different moments.
  virtual void gradient(std::uint64_t sample, std::span<const Number> view,
                        std::span<Number> result) const = 0;
  // The sample is drawn soon.
  virtual void prefetch(std::uint64_t /*sample*/) const {}

  // F(x), over all samples.
  virtual double loss(std::span<const Number> x) const = 0;
};

}  // namespace weft::concurrent
