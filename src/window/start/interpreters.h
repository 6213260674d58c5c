#pragma once

#include <QObject>
#include <QProcess>
#include <QProcessEnvironment>
#include <QStringList>
#include <QTimer>
#include <chrono>
#include <memory>

namespace highwater::window {

/// What /usr/bin/python3 is: as any other; a Mac's, which seldom has PyTorch; or a Mac's stub,
/// which opens a dialog.
enum class SystemPython { kOrdinary, kMac, kStub };
[[nodiscard]] SystemPython systemPython();

/// Finds the Pythons that a user may mean, likeliest first, each once: those of the environments in
/// `folders` (.venv, venv), of the active environment, and python3 on the PATH. On a Mac also those
/// of Homebrew, pyenv and conda: a program started from the Finder has none of them on its PATH.
[[nodiscard]] QStringList findInterpreters(const QStringList& folders,
                                           const QProcessEnvironment& environment,
                                           SystemPython system = systemPython());

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
