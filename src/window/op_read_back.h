#pragma once

#include <QObject>
#include <QTimer>
#include <atomic>
#include <memory>

#include "analysis/op_columns.h"
#include "core/result.h"

class QThread;

namespace highwater::views {
class TimeAxis;
}

namespace highwater::run {
class Run;
}  // namespace highwater::run

namespace highwater::window {

/// Reads ops that the store has dropped back from the recording while they are looked at: those of
/// the visible range and of as much before and behind it, on a thread of its own. It reads nothing
/// where the range holds more than the store takes; there the lanes ask to zoom in.
class OpReadBack final : public QObject {
  Q_OBJECT

 public:
  OpReadBack(run::Run* run, views::TimeAxis* axis, QObject* parent = nullptr);
  /// Cancels what is being read and waits for the thread: for a message at most.
  ~OpReadBack() override;

 signals:
  /// The recording could not be read. Told once for each recording.
  void failed(const QString& message);
  /// The visible range was found to hold more ops than the store takes back.
  void tooMany();

 private:
  using Read = Result<std::optional<analysis::OpColumns::ReadBack>>;

  void readMissing();
  void take(Read read);
  void stop();

  run::Run* run_;
  views::TimeAxis* axis_;
  QTimer settled_;  ///< runs while the visible range changes
  std::atomic<bool> cancelled_ = false;
  std::unique_ptr<QThread> thread_;
  std::uint64_t replaced_ = 0;  ///< counts the runs, so that ops of another one are not shown
  std::pair<std::int64_t, std::int64_t> tooManyIn_;  ///< the range that was found to hold too many
  std::size_t tooManyFor_ = 0;                       ///< the most ops that it was found with
  bool told_ = false;
};

}  // namespace highwater::window
