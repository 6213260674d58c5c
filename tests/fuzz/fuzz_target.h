#pragma once

#include <cstddef>
#include <cstdint>

/// What a fuzzer calls for each input, by libFuzzer's names: https://llvm.org/docs/LibFuzzer.html.
/// An input is a stream of frames.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
