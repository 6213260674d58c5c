#pragma once

#include <QObject>
#include <atomic>
#include <filesystem>
#include <memory>

#include "analysis/live_store.h"
#include "core/result.h"
#include "run/recording_loader.h"

class QThread;

namespace highwater::run {

/// Reads a recording on a thread of its own, while the window stays usable: of a large one first an
/// overview, then all of it. Signals arrive on the thread that owns this object.
class RecordingOpening final : public QObject {
  Q_OBJECT

 public:
  /// A recording that was read to its end, or to where it is damaged.
  struct Loaded {
    analysis::LiveStore store;
    RecordingCondition condition;
    std::shared_ptr<ReadSoFar> soFar;  ///< to read on while it is being written
  };

  /// Will read `path`, into a store with this memory budget.
  explicit RecordingOpening(const std::filesystem::path& path,
                            std::size_t memoryBudget = analysis::LiveStore::kDefaultMemoryBudget,
                            QObject* parent = nullptr);
  /// Cancels what is still being read, and waits for the thread: for a message at most.
  ~RecordingOpening() override;

  /// Begins to read. Once, when the signals are connected: a short recording has been read at once.
  void start();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 signals:
  /// A part of a large recording has been read: take it with std::move.
  void overviewRead(const std::shared_ptr<highwater::analysis::LiveStore>& overview);
  /// The share of the recording that has been read, from 0 to 1.
  void progressed(double share);
  /// All of it has been read, or it cannot be. `loaded` has the errors of
  /// loadReadablePart(). Not emitted after the object was destroyed.
  void ended(const std::shared_ptr<highwater::Result<Loaded>>& loaded);

 private:
  void read();

  std::filesystem::path path_;
  std::size_t memoryBudget_;
  std::atomic<bool> cancelled_ = false;
  std::unique_ptr<QThread> thread_;
};

}  // namespace highwater::run
