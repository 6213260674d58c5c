#include <cmath>

#include "simmps/device/shapes/shapes.h"

// New tensors; the dtype is that of the out= argument, which is the last.
namespace highwater::simmps {
namespace {

Layouts sized(const Stack& arguments, at::IntArrayRef sizes) {
  return {contiguous(sizes, arguments.back().toTensor().scalar_type())};
}

// (start, end, step, out); counts in integers if the result holds integers, as PyTorch does
Layouts arange(const Stack& arguments) {
  const auto [start, end, step] =
      std::tuple(arguments[0].toScalar(), arguments[1].toScalar(), arguments[2].toScalar());
  const double exact = (end.toDouble() - start.toDouble()) / step.toDouble();
  // Above this, doubles skip integers, and no memory holds as many elements.
  constexpr double kMost = 1LL << 53;
  if (!(exact >= 0)) return {};  // also NaN; the kernel reports the error
  // PyTorch's text for doubles; its kernel for long may divide the smallest number by -1.
  TORCH_CHECK(exact < kMost, "invalid size, possible overflow?");
  if (arguments.back().toTensor().scalar_type() != at::kLong) {
    return sized(arguments, {static_cast<std::int64_t>(std::ceil(exact))});
  }
  const std::int64_t by = step.toLong();
  if (by == 0) return {};
  const std::int64_t whole = end.toLong() - start.toLong();
  return sized(arguments, {whole / by + (whole % by != 0 ? 1 : 0)});
}

// (start, end, steps, ...)
Layouts steps(const Stack& arguments) {
  return sized(arguments, {arguments[2].toInt()});
}

// (n, out)
Layouts square(const Stack& arguments) {
  return sized(arguments, {arguments[0].toInt(), arguments[0].toInt()});
}

// (n, m, out)
Layouts rectangle(const Stack& arguments) {
  return sized(arguments, {arguments[0].toInt(), arguments[1].toInt()});
}

// (n, generator, out)
Layouts permutation(const Stack& arguments) {
  return sized(arguments, {arguments[0].toInt()});
}

// (real, imaginary, out) and (abs, angle, out)
Layouts fromPair(const Stack& arguments) {
  return {broadcast({tensorAt(arguments, 0), tensorAt(arguments, 1)},
                    c10::toComplexType(tensorAt(arguments, 0).scalar_type()))};
}

}  // namespace

void addFactoryShapes(ShapeTable& table) {
  table.insert({
      {"arange.start_out", arange},
      {"linspace.out", steps},
      {"eye.out", square},
      {"eye.m_out", rectangle},
      {"randperm.generator_out", permutation},
      {"complex.out", fromPair},
      {"polar.out", fromPair},
  });
}

}  // namespace highwater::simmps
