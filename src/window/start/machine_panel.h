#pragma once

#include <QWidget>
#include <map>

#include "core/messages.h"
#include "core/result.h"
#include "window/start/interpreters.h"

class QGridLayout;
class QLabel;

namespace highwater::window {

/// What this machine has, as far as it has been found: the device and its memory, and the Python
/// that the form names.
class MachinePanel final : public QWidget {
  Q_OBJECT

 public:
  explicit MachinePanel(QWidget* parent = nullptr);

  /// Shows what the worker said about the device.
  void showWorker(const Hello& hello);
  /// Shows why nothing is known about the device; kVersionMismatch: only that no sample can be run.
  void showWorkerProblem(const Error& problem);
  /// Shows the Python and PyTorch of the form.
  void showInterpreter(const InterpreterAnswer& answer);
  /// Shows how much room there is for recordings.
  void showRecordingsRoom();

 private:
  enum class Fact { kDevice, kMemory, kHighwaterTorch, kPython, kTorch, kProbe, kRecordings };
  void addRow(QGridLayout* grid, Fact fact, const QString& name);
  void show(Fact fact, const QString& value, const QString& note, bool wrong = false);

  struct Row {
    QLabel *value, *note;
  };
  std::map<Fact, Row> rows_;
};

}  // namespace highwater::window
