#pragma once

#include <QElapsedTimer>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/definition_table.h"
#include "core/messages.h"
#include "support/run_program.h"
#include "wire/codec.h"
#include "wire/frame_reader.h"
#include "wire/limits.h"
#include "wire/validator.h"

namespace highwater::worker::test {

using highwater::test::kWaitMs;

/// Everything that a worker sent, in order and by kind; judged by the validator on its way.
struct Stream : PerEventKind<EventVector> {
  std::optional<Hello> hello;
  std::optional<RunDescription> description;
  std::map<NameId, std::string> names;
  std::map<ThreadId, std::string> threads;
  DefinitionTable definitions;
  std::vector<CommandResult> results;
  std::optional<Failure> failure;
  std::optional<Goodbye> goodbye;
  QString complaint;  ///< the error of the frame reader, the decoder or the validator; empty: none

  void take(const Message& message);

  [[nodiscard]] std::vector<events::Marker> markersOf(events::MarkerKind kind) const;
  [[nodiscard]] std::string nameOf(NameId id) const {
    const auto found = names.find(id);
    return found == names.end() ? "?" : found->second;
  }
};

/// Runs highwater-worker with frames on its stdin and stdout, and reads its stream.
class WorkerProcess {
 public:
  explicit WorkerProcess(const QStringList& arguments,
                         const std::map<QString, QString>& environment = {});
  /// Runs another program that speaks the worker's protocol.
  WorkerProcess(const QString& program, const QStringList& arguments,
                const std::map<QString, QString>& environment);
  ~WorkerProcess();

  void send(const Message& message);
  /// Closes the worker's stdin.
  void hangUp() { process_.closeWriteChannel(); }
  /// Reads until `done(stream)` or the process has ended; false after `limitMs`.
  template <typename F>
  bool readUntil(F&& done, int limitMs = kWaitMs);
  /// Reads to the end of the stream and returns the exit code; -1: it did not end in time, or
  /// crashed.
  int finish(int limitMs = kWaitMs);

  [[nodiscard]] const Stream& stream() const { return stream_; }
  [[nodiscard]] QString errors() { return QString::fromUtf8(process_.readAllStandardError()); }
  [[nodiscard]] bool running() const { return process_.state() == QProcess::Running; }

 private:
  void readFrames();

  QProcess process_;
  wire::FrameReader frames_;
  wire::Validator validator_{wire::StreamSource::kWorker};
  Stream stream_;
};

template <typename F>
bool WorkerProcess::readUntil(F&& done, int limitMs) {
  QElapsedTimer timer;
  timer.start();
  while (true) {
    readFrames();
    if (done(stream_)) return true;
    if (timer.elapsed() > limitMs || (!running() && process_.bytesAvailable() == 0)) return false;
    process_.waitForReadyRead(50);
  }
}

}  // namespace highwater::worker::test
