#pragma once

#include <QObject>
#include <QSocketNotifier>
#include <memory>

namespace highwater::app {

/// SIGINT, SIGTERM and SIGHUP (unless it is ignored: nohup) as Qt signals, while it lives. One
/// instance a process.
class StopSignals final : public QObject {
  Q_OBJECT

 public:
  explicit StopSignals(QObject* parent = nullptr);
  ~StopSignals() override;

 signals:
  /// `count`: 1 for the first one.
  void stopRequested(int count);

 private:
  void readOne();

  std::unique_ptr<QSocketNotifier> notifier_;
  int count_ = 0;
};

}  // namespace highwater::app
