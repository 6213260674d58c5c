#pragma once

#include <filesystem>
#include <vector>

#include "store/recording_writer.h"
#include "support/sample_run.h"
#include "wire/codec.h"

namespace highwater::test {

/// Writes a run as a recording, over one that is there. False where it cannot be written.
inline bool writeRecording(const std::filesystem::path& path,
                           const std::vector<OwnedMessage>& run) {
  auto writer = store::RecordingWriter::create(path, {.overwrite = true});
  if (!writer) return false;
  forEachMessage(run,
                 [&](const Message& message) { (*writer)->take(wire::encode(message), message); });
  return (*writer)->close().ok();
}

}  // namespace highwater::test
