#pragma once

#include <QObject>
#include <QProcess>
#include <QStringList>
#include <QTimer>
#include <chrono>
#include <memory>

namespace highwater::window {

/// What an interpreter says about itself.
struct InterpreterAnswer {
  QString program;
  QString version;          ///< of Python, "3.11.9"; empty if it did not answer
  QString torch;            ///< the version of its PyTorch; empty if that cannot be used
  QString problem;          ///< why a training under it cannot be watched; empty if it can
  bool probeReady = false;  ///< the probe's library for its PyTorch is there
};

/// Asks a Python for its version and its PyTorch's, in the background and with a time limit. Does
/// not import PyTorch.
class InterpreterQuestion final : public QObject {
  Q_OBJECT

 public:
  explicit InterpreterQuestion(std::chrono::milliseconds limit = std::chrono::seconds(15),
                               QObject* parent = nullptr);
  ~InterpreterQuestion() override;

  /// Asks `program` (an absolute path), started in `folder`. Drops the question before. answered()
  /// follows later.
  void ask(const QString& program, const QString& folder);
  /// Drops the question. No answer follows.
  void cancel();

 signals:
  void answered(const highwater::window::InterpreterAnswer& answer);

 private:
  void finish(const InterpreterAnswer& answer);
  void fail(const QString& problem);
  void read();

  QString program_;
  std::unique_ptr<QProcess> process_;
  QTimer limit_;
};

}  // namespace highwater::window
