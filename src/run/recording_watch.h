#pragma once

#include <QObject>
#include <QTimer>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace highwater::run {

class Run;

/// Notices that the file of the recording on screen holds another run, as after
/// `highwater record --force`. Looks at the file's identity and time once a second, and reads in it
/// only if they have changed. Not while the window itself writes the recording.
class RecordingWatch final : public QObject {
  Q_OBJECT

 public:
  explicit RecordingWatch(Run* run, QObject* parent = nullptr);

  /// Looks at the file now. Returns whether it holds another run than the one on screen.
  bool look();
  /// Whether it did when it was last looked at. The run on screen is then nowhere on disk.
  [[nodiscard]] bool isReplaced() const { return isReplaced_; }

 signals:
  /// The file was found to hold another run. Once for each run on screen.
  void replaced();

 private:
  /// What tells whether a file has changed. Times in ns.
  struct Stamp {
    std::uint64_t device = 0, inode = 0;
    std::int64_t bytes = 0, modified = 0, changed = 0;
    bool operator==(const Stamp&) const = default;
  };
  /// The file and, for one that is being written, SQLite's log beside it; nullopt: there is none.
  struct Stamps {
    std::optional<Stamp> file, log;
    bool operator==(const Stamps&) const = default;
  };
  void startOver();
  [[nodiscard]] static std::optional<Stamp> stampOf(const std::filesystem::path& path);

  Run* run_;
  QTimer timer_;
  std::optional<Stamp> seen_;  ///< of the file when it was last found to hold the run on screen
  Stamps unreadable_;          ///< when it could not be read
  bool isReplaced_ = false;
};

}  // namespace highwater::run
