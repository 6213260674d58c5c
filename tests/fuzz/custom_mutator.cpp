#include <algorithm>
#include <random>

#include "stream_mutator.h"

/// libFuzzer asks these in place of its own mutations, of which it still makes every fourth.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t maxSize);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t maxSize, unsigned seed) {
  if (seed % 4 == 0) return LLVMFuzzerMutate(data, size, maxSize);
  std::mt19937_64 random(seed);
  highwater::fuzz::Bytes stream(data, data + size);
  highwater::fuzz::mutateStream(stream, {}, maxSize, random);
  std::copy(stream.begin(), stream.end(), data);
  return stream.size();
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* first, std::size_t firstSize,
                                                 const std::uint8_t* second, std::size_t secondSize,
                                                 std::uint8_t* out, std::size_t maxSize,
                                                 unsigned seed) {
  std::mt19937_64 random(seed);
  highwater::fuzz::Bytes stream(first, first + firstSize);
  highwater::fuzz::mutateStream(stream, {second, secondSize}, maxSize, random);
  std::copy(stream.begin(), stream.end(), out);
  return stream.size();
}
