#pragma once

#include <cstdint>
#include <filesystem>

#include "core/result.h"

namespace highwater::test {

/// How large a made-up recording is. Its ops are random, so that they hardly compress.
struct LargeRecordingOptions {
  std::uint64_t steps = 1000;
  std::uint32_t opsAStep = 1000;
  std::uint32_t samplesAStep = 5;
  std::int64_t stepNs = 100'000'000;
};

/// Writes a recording of any length with little memory: steps, phases, samples and ops. Fails as
/// store::RecordingWriter does.
[[nodiscard]] Result<void> writeLargeRecording(const std::filesystem::path& path,
                                               const LargeRecordingOptions& options);

/// Writes a recording of equal memory samples, which inflates to several thousand times the size of
/// its file. Fails as store::RecordingWriter does.
[[nodiscard]] Result<void> writeEqualSamples(const std::filesystem::path& path,
                                             std::uint64_t count);

}  // namespace highwater::test
