#pragma once

#include <QDialog>
#include <QStandardItemModel>
#include <memory>

#include "core/result.h"
#include "run/benchmark_run.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;
class QStackedWidget;

namespace highwater::views {
class BenchmarkPlot;
}

namespace highwater::run {
class Run;
}  // namespace highwater::run

namespace highwater::window {

/// Compares the CPU with MPS: asks what to measure, measures in a worker of its own, which can be
/// cancelled, and shows times and numeric drift. The model is that of the next run.
class BenchmarkDialog final : public QDialog {
  Q_OBJECT

 public:
  /// `run` is not owned and must outlive the dialog. Nothing is measured while it is live: both
  /// would wait for the same device.
  explicit BenchmarkDialog(run::Run* run, QWidget* parent = nullptr);
  ~BenchmarkDialog() override;  ///< ends the worker

  /// Shows the one dialog of `parent`; makes it if there is none.
  static void showFor(run::Run* run, QWidget* parent);

  /// What has been measured; empty before.
  [[nodiscard]] const tuning::Benchmark& benchmark() const { return benchmark_; }
  /// Shows a result.
  void setBenchmark(const tuning::Benchmark& benchmark);
  [[nodiscard]] bool isMeasuring() const { return measuring_ != nullptr; }

  /// Closes the dialog, and ends the worker.
  void done(int result) override;

 private:
  void makeForm();
  void makeResults();
  void makeButtons();
  [[nodiscard]] Result<run::BenchmarkRunOptions> asked() const;
  void startOrCancel();
  void start();
  void finish();
  void updateState();
  void showResult();
  void say(const QString& message, bool isProblem);
  void save();

  run::Run* run_;
  std::unique_ptr<run::BenchmarkRun> measuring_;
  tuning::Benchmark benchmark_;
  std::string stopped_;  ///< why the result is not complete
  QStandardItemModel times_, modules_;
  QCheckBox *products_, *step_, *drift_;
  QLineEdit* shapes_;
  QComboBox* type_;
  QLabel *message_, *heading_, *speed_, *driftText_;
  QProgressBar* progress_;
  QStackedWidget* results_;
  views::BenchmarkPlot* plot_;
  QPushButton *startButton_, *copy_, *save_;
};

}  // namespace highwater::window
