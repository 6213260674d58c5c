#include "session/describe_worker.h"

#include <QEventLoop>
#include <QTimer>

#include "core/exit_codes.h"
#include "session/frame_channel.h"
#include "session/run_end.h"
#include "session/worker_launch.h"
#include "session/worker_process.h"

namespace highwater::session {

Result<Hello> describeWorker(const LaunchOptions& options) {
  auto limits = readSupervisionLimits();
  if (!limits) return limits.error();
  auto program =
      options.workerProgram.isEmpty() ? findWorker() : Result<QString>(options.workerProgram);
  if (!program) return program.error();

  RunFacts facts;
  facts.program = QStringLiteral("highwater-worker");
  std::optional<Hello> hello;
  QEventLoop loop;
  WorkerProcess process;
  auto socket =
      process.start(*program, workerArguments(options) + QStringList{QStringLiteral("--describe")},
                    options.environment);
  if (!socket) return socket.error();

  bool connectionOver = false;
  FrameChannel channel(std::move(*socket), {}, [&](auto, const Message& message) {
    if (const auto* greeting = std::get_if<Hello>(&message)) hello = *greeting;
    if (const auto* failed = std::get_if<Failure>(&message)) facts.failure = *failed;
  });
  const auto quitIfOver = [&] {
    if (connectionOver && facts.exit) loop.quit();
  };
  QObject::connect(&channel, &FrameChannel::ended, &loop, [&] {
    connectionOver = true;
    quitIfOver();
  });
  QObject::connect(&channel, &FrameChannel::violated, &loop, [&](const QString& what) {
    facts.violation = what;
    loop.quit();
  });
  QObject::connect(&process, &WorkerProcess::finished, &loop, [&](ProcessExit exit) {
    facts.exit = exit;
    quitIfOver();
  });
  QTimer::singleShot(limits->start, &loop, [&] {
    facts.silentFor = limits->start;
    loop.quit();
  });
  loop.exec();

  if (hello && !facts.violation && !facts.failure) return *hello;
  facts.lastLines = process.lastLines();
  const RunEnd end = runEndFrom(facts);
  return Error{exitCodeFor(end) == kExitUsage ? ErrorCode::kUsage : ErrorCode::kFailed,
               end.message};
}

}  // namespace highwater::session
