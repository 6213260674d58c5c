#include <QCoreApplication>
#include <cstdio>

#include "app/accept_command.h"
#include "app/doctor_command.h"
#include "app/export_command.h"
#include "app/options.h"
#include "app/record_command.h"
#include "app/report_command.h"
#include "app/terminal.h"
#include "app/version.h"
#include "app/window_command.h"
#include "core/exit_codes.h"

namespace {

using namespace highwater;
using namespace highwater::app;

int run(const RecordOptions& options, int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  return runRecord(options);
}

int run(const ReportOptions& options, int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  return runReport(options);
}

int run(const AcceptOptions& options, int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  return runAccept(options);
}

int run(const DoctorOptions& options, int argc, char** argv) {
  const QCoreApplication application(argc, argv);
  return runDoctor(options);
}

int run(const ExportOptions& options, int argc, char** argv) {
  return runExport(options, argc, argv);
}

int run(const WindowOptions& options, int argc, char** argv) {
  return runWindow(options, argc, argv);
}

}  // namespace

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
  const int code = std::visit([&](const auto& options) { return run(options, argc, argv); },
                              std::get<Invocation>(parsed));
  if (code == kExitDone && std::ferror(stdout) != 0) {
    printError("what it had to say could not be written to the standard output");
    return kExitFailed;
  }
  return code;
}
