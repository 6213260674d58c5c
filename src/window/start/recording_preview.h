#pragma once

#include <QDateTime>
#include <QMetaType>
#include <QString>
#include <cstdint>
#include <functional>
#include <vector>

namespace highwater::window {

/// The memory of a stretch of a run, in bytes: the least and the largest current, and the largest
/// driver memory.
struct MemoryStretch {
  float leastCurrent = 0, current = 0, driver = 0;
};

/// A recording in a list: what its file says.
struct RecordingPreview {
  /// How far the file has been read. kUnread: only its name, date and size are known.
  enum class State { kUnread, kRead, kBeingWritten, kDamaged, kMissing };
  State state = State::kUnread;
  QString path;
  QDateTime begun;    ///< of the run, or the file's time where that is not known
  QDateTime changed;  ///< the file; invalid if it is missing
  qint64 bytes = 0;
  std::int64_t lengthNs = -1;  ///< -1: not known
  QString device;              ///< "simulated", "mps" or "cpu"
  QString what;                ///< the scenario or workload, and its batch
  QString end;      ///< "out of memory at step 167", "crashed, signal 9"; empty: as planned
  QString problem;  ///< what is wrong with the file, in words
  QString detail;   ///< the same at length; may be empty
  std::vector<MemoryStretch> memory;  ///< stretches of equal length; empty without memory counters
};

/// What the file system says about a recording, which takes no time. kMissing if there is no file.
[[nodiscard]] RecordingPreview fileFacts(const QString& path);

/// Reads a whole recording, which takes a while; any thread may. `cancelled` is asked for each
/// frame. A cancelled reading returns fileFacts().
[[nodiscard]] RecordingPreview readPreview(const QString& path,
                                           const std::function<bool()>& cancelled);

}  // namespace highwater::window

Q_DECLARE_METATYPE(highwater::window::RecordingPreview)
