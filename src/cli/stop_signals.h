#pragma once

#include <QObject>
#include <QSocketNotifier>
#include <memory>

namespace highwater::cli {

/// The signal of so many by which a user lets go of a program on another machine, whatever becomes
/// of it: the connection may be stuck.
inline constexpr int kLettingGo = 3;

/// Turns SIGINT, SIGTERM and SIGHUP (unless it is ignored: nohup) into a Qt signal while it exists.
/// At most one instance in a process.
class StopSignals final : public QObject {
  Q_OBJECT

 public:
  /// Installs the handlers. Without a free file descriptor it installs none, and the signals end
  /// the process as usual.
  explicit StopSignals(QObject* parent = nullptr);
  /// Sets the signals to the system's default, not to earlier handlers.
  ~StopSignals() override;

  /// Emits stopRequested() for the signals that came before the event loop runs. Returns whether
  /// any came.
  bool readPending();

 signals:
  /// Emitted for each SIGINT, SIGTERM or SIGHUP; `count` numbers them from 1.
  void stopRequested(int count, int signal);

 private:
  std::unique_ptr<QSocketNotifier> notifier_;
  int count_ = 0;
};

}  // namespace highwater::cli
