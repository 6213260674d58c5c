#pragma once

#include <QObject>
#include <QProcess>

#include "core/benchmark_choice.h"
#include "core/messages.h"
#include "core/result.h"
#include "session/line_log.h"
#include "session/session.h"
#include "tuning/benchmark.h"

namespace highwater::run {

/// What to measure of the CPU against MPS: by default all parts.
struct BenchmarkRunOptions : BenchmarkChoice {
  BenchmarkRunOptions() { matmul = step = drift = true; }

  session::LaunchOptions
      launch;  ///< device, model, batch and precision of the step and of the drift
};

/// The worker's arguments for a benchmark.
[[nodiscard]] QStringList benchmarkArguments(const BenchmarkRunOptions& options);

/// How far a benchmark is.
struct BenchmarkProgress {
  QString doing;
  double done = 0;  ///< 0 to 1
};

/// Adds a line that the worker has printed to `benchmark`. Returns the progress that it tells of,
/// if it does. Fails with kMalformed for a line that is no result, and with kVersionMismatch for a
/// worker of another version.
[[nodiscard]] Result<std::optional<BenchmarkProgress>> addBenchmarkLine(
    const QByteArray& line, tuning::Benchmark& benchmark);

/// Measures the CPU against MPS in a worker of its own. One run is one benchmark. Use it on the
/// thread that made it, which must run an event loop.
class BenchmarkRun final : public QObject {
  Q_OBJECT

 public:
  explicit BenchmarkRun(BenchmarkRunOptions options, QObject* parent = nullptr);
  ~BenchmarkRun() override;  ///< kills the worker

  /// Starts the worker. Fails with the errors of session::findWorker(); ended() does not follow
  /// then.
  [[nodiscard]] Result<void> start();
  /// Ends the worker; what has been measured stays. ended() follows.
  void cancel();

  /// What has been measured so far.
  [[nodiscard]] const tuning::Benchmark& benchmark() const { return benchmark_; }
  /// How it ended: a success also where a part was refused, kEnded after cancel(), kUsage where the
  /// worker refuses its options, else kFailed. The message is for the user.
  [[nodiscard]] const Result<void>& outcome() const { return outcome_; }

 signals:
  void progressed(const highwater::run::BenchmarkProgress& progress);
  /// A part has been measured or refused.
  void measured();
  /// The worker has ended.
  void ended();

 private:
  void readLines();
  void finish();
  [[nodiscard]] Result<void> outcomeOf(QProcess::ProcessError error) const;

  BenchmarkRunOptions options_;
  QProcess process_;
  QByteArray pending_;
  session::LineLog errors_;
  tuning::Benchmark benchmark_;
  Result<void> outcome_ = failure("the benchmark has not ended");
  QString malformed_;
  bool cancelled_ = false, over_ = false;
};

}  // namespace highwater::run
