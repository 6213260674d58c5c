#include <QCoreApplication>
#include <clocale>
#include <cstdio>

#include "cli/accept_command.h"
#include "cli/benchmark_command.h"
#include "cli/compare_command.h"
#include "cli/data_export.h"
#include "cli/doctor/doctor_command.h"
#include "cli/export_command.h"
#include "cli/options.h"
#include "cli/page_command.h"
#include "cli/record_command.h"
#include "cli/report_command.h"
#include "cli/run_command.h"
#include "cli/sweep_command.h"
#include "cli/terminal.h"
#include "cli/window_command.h"
#include "core/exit_codes.h"
#include "core/version.h"

namespace {

using namespace highwater;
using namespace highwater::cli;

int execute(const RecordOptions& options, int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  return runRecord(options);
}

int execute(const ScriptCommandOptions& options, int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  return runScript(options);
}

int execute(const SweepCommandOptions& options, int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  return runSweep(options);
}

int execute(const BenchmarkCommandOptions& options, int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  return runBenchmark(options);
}

int execute(const ReportOptions& options, int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  return runReport(options);
}

int execute(const ReportPageOptions& options, int argc, char** argv) {
  return runReportPage(options, argc, argv);
}

int execute(const CompareOptions& options, int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  return runCompare(options);
}

int execute(const DataExportOptions& options, int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  return runDataExport(options);
}

int execute(const AcceptOptions& options, int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  return runAccept(options);
}

int execute(const DoctorOptions& options, int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  return runDoctor(options);
}

int execute(const ExportOptions& options, int argc, char** argv) {
  return runExport(options, argc, argv);
}

int execute(const WindowOptions& options, int argc, char** argv) {
  if (options.script && !options.insists && !hasDisplay()) {
    ScriptCommandOptions recorded;
    recorded.script = *options.script;
    recorded.quiet = options.quiet;
    return execute(recorded, argc, argv);
  }
  return runWindow(options, argc, argv);
}

/// Qt adopts the user's locale. Files and JSON must not get its decimal comma.
void useDecimalPoint() {
  std::setlocale(LC_NUMERIC, "C");
}

}  // namespace

Q_COREAPP_STARTUP_FUNCTION(useDecimalPoint)

int main(int argc, char** argv) {
  const auto parsed = parseCommandLine(argc, argv);
  if (const auto* early = std::get_if<EarlyExit>(&parsed)) {
    if (early->exitCode == kExitDone) {
      print(early->text);
    } else {
      printError(early->text);
    }
    return early->exitCode;
  }
  QCoreApplication::setOrganizationName(QStringLiteral("Highwater"));
  QCoreApplication::setOrganizationDomain(QStringLiteral("highwater.github.io"));
  QCoreApplication::setApplicationName(QStringLiteral("highwater"));
  QCoreApplication::setApplicationVersion(QLatin1String(kVersion));
  const int code = std::visit([&](const auto& options) { return execute(options, argc, argv); },
                              std::get<Invocation>(parsed));
  if (code == kExitDone && std::ferror(stdout) != 0) {
    printError("the standard output could not be written to completely");
    return kExitFailed;
  }
  return code;
}
