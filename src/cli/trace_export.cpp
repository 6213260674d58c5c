#include "cli/trace_export.h"

#include <QFile>
#include <QFileInfo>
#include <QSaveFile>

#include "cli/output_file.h"
#include "cli/terminal.h"
#include "core/exit_codes.h"
#include "report/chrome_trace.h"
#include "run/recording_loader.h"

namespace highwater::cli {
namespace {

/// Allows to replace an earlier trace if that is wanted, but never a file that was named by
/// mistake. kExists.
Result<void> checkTraceReplaced(const std::string& name, bool overwrites) {
  const QFileInfo info(QString::fromStdString(name));
  if (!info.exists()) return {};
  // QSaveFile would replace a device by the trace.
  if (!info.isFile()) return failure(name + " is not a regular file; name another output");
  constexpr qint64 kHead = 512;
  QFile old(info.filePath());
  const bool isTrace = info.size() == 0 ||
                       (old.open(QFile::ReadOnly) && old.read(kHead).contains("\"traceEvents\""));
  if (isTrace && overwrites) return {};
  return Error{ErrorCode::kExists,
               isTrace ? name + " exists; give --force to overwrite it, or another name"
                       : name +
                             " exists and is not a trace, so it is not overwritten; name "
                             "another output"};
}

}  // namespace

int runTraceExport(const TraceOptions& options) {
  if (auto replaced = checkTraceReplaced(options.trace, options.force); !replaced) {
    return failWith(replaced.error());
  }
  QSaveFile file(QString::fromStdString(options.trace));
  if (!file.open(QIODevice::WriteOnly)) return failWith(notWritten(file, "--to"));
  report::ChromeTrace trace([&file](std::string_view piece) {
    file.write(piece.data(), static_cast<qint64>(piece.size()));
  });
  run::LoadControl control;
  control.mostBytes = UINT64_MAX;  // nothing of it stays in memory
  // What cannot be written any more need not be read.
  control.cancelled = [&file] { return file.error() != QFileDevice::NoError; };
  const auto condition = run::loadReadablePart(options.recording, trace, control);
  if (!condition && !control.cancelled()) return failWith(condition.error());
  trace.finish();
  if (!file.commit()) return failWith(notWritten(file, "--to"));
  if (condition->damage.empty()) return kExitDone;
  printError(run::damageText(options.recording, *condition));
  return kExitFailed;
}

}  // namespace highwater::cli
