#include "cli/benchmark_command.h"

#include <QCoreApplication>
#include <QEventLoop>
#include <QJsonDocument>
#include <csignal>

#include "cli/output_file.h"
#include "cli/stop_signals.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "report/report_benchmark.h"
#include "run/benchmark_run.h"

namespace highwater::cli {
namespace {

using run::BenchmarkProgress;
using run::BenchmarkRun;

/// Prints to stderr how far a benchmark is: on a terminal one line that is redrawn, elsewhere a
/// line for each part.
class ProgressLine {
 public:
  ProgressLine() : terminal_(terminalOf(stderr)) {}

  void show(const BenchmarkProgress& progress) {
    if (terminal_.interactive) {
      const int percent = static_cast<int>(progress.done * 100);
      const QString line = QStringLiteral("%1 %  %2").arg(percent).arg(progress.doing);
      std::fprintf(stderr, "\r\x1b[2K%s", qPrintable(line.left(terminal_.columns - 1)));
      std::fflush(stderr);
      open_ = true;
    } else if (progress.doing != doing_) {
      std::fprintf(stderr, "measuring %s\n", qPrintable(progress.doing));
    }
    doing_ = progress.doing;
  }
  void finish() {
    if (open_) std::fputs("\r\x1b[2K", stderr);
    open_ = false;
  }

 private:
  Terminal terminal_;
  QString doing_;
  bool open_ = false;
};

int exitCodeOf(const BenchmarkRun& run) {
  const Result<void>& outcome = run.outcome();
  if (outcome) return run.benchmark().refused.empty() ? kExitDone : kExitFailed;
  if (outcome.error().code == ErrorCode::kUsage) return kExitUsage;
  return outcome.error().code == ErrorCode::kEnded ? kExitEndedEarly : kExitFailed;
}

}  // namespace

int runBenchmark(const BenchmarkCommandOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);
  if (!options.output.empty()) {
    if (auto writable = checkJsonFile(options.output, "-o"); !writable) {
      printError(writable.error().message);
      return kExitFailed;
    }
  }
  BenchmarkRun run(options.run);
  QEventLoop loop;
  ProgressLine progress;
  const StopSignals signals_;
  QObject::connect(&run, &BenchmarkRun::progressed, &loop,
                   [&](const BenchmarkProgress& each) { progress.show(each); });
  QObject::connect(&run, &BenchmarkRun::ended, &loop, &QEventLoop::quit, Qt::QueuedConnection);
  QObject::connect(&signals_, &StopSignals::stopRequested, &run, &BenchmarkRun::cancel);
  if (auto started = run.start(); !started) {
    printError(started.error().message);
    return kExitFailed;
  }
  loop.exec();
  progress.finish();

  const Result<void>& outcome = run.outcome();
  const std::string stopped = outcome ? std::string() : outcome.error().message;
  int code = exitCodeOf(run);
  if (!run.benchmark().empty()) {
    const QByteArray json = QJsonDocument(report::benchmarkJson(run.benchmark(), stopped)).toJson();
    print(options.json ? json.toStdString()
                       : report::benchmarkText(run.benchmark(), textWidth(stdout)));
    if (!options.output.empty()) {
      if (auto written = saveNamed(options.output, json, "-o"); !written) {
        printError(written.error().message);
        code = kExitFailed;
      }
    }
  }
  if (!outcome) printError(stopped);
  return code;
}

}  // namespace highwater::cli
