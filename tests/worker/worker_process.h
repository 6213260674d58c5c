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
#include "wire/codec.h"
#include "wire/frame_reader.h"
#include "wire/limits.h"
#include "wire/validator.h"

namespace highwater::worker::test {

/// Everything that a worker sent, in order and by kind; judged by the validator on its way.
struct Stream {
  std::optional<Hello> hello;
  std::optional<RunDescription> description;
  std::map<NameId, std::string> names;
  std::map<ThreadId, std::string> threads;
  DefinitionTable definitions;
  std::vector<events::MemorySample> memorySamples;
  std::vector<events::SystemSample> systemSamples;
  std::vector<events::StepRecord> steps;
  std::vector<events::PhaseSpan> phases;
  std::vector<events::SyncPoint> syncPoints;
  std::vector<events::FallbackEvent> fallbacks;
  std::vector<events::Marker> markers;
  std::vector<events::Evaluation> evaluations;
  std::vector<events::OpenSpan> openSpans;
  std::vector<events::Heartbeat> heartbeats;
  std::vector<events::DropRecord> drops;
  std::vector<events::DeviceSpan> deviceSpans;
  std::vector<events::OpSpan> ops;
  std::vector<events::PhaseMemory> phaseMemory;
  std::vector<CommandResult> results;
  std::optional<Failure> failure;
  std::optional<Goodbye> goodbye;
  QString complaint;  ///< what the frame reader, the decoder or the validator refused

  void take(const Message& message);

  [[nodiscard]] std::vector<events::Marker> markersOf(events::MarkerKind kind) const;
  [[nodiscard]] std::string nameOf(NameId id) const {
    const auto found = names.find(id);
    return found == names.end() ? "?" : found->second;
  }
};

/// A real highwater-worker with frames on its stdin and stdout.
class WorkerProcess {
 public:
  explicit WorkerProcess(const QStringList& arguments,
                         const std::map<QString, QString>& environment = {});
  /// Another program that speaks like a worker.
  WorkerProcess(const QString& program, const QStringList& arguments,
                const std::map<QString, QString>& environment);
  ~WorkerProcess();

  void send(const Message& message);
  /// Closes the worker's stdin.
  void hangUp() { process_.closeWriteChannel(); }
  /// Reads until `done(stream)` or the process has ended; false after `limitMs`.
  template <typename F>
  bool readUntil(F&& done, int limitMs = 60'000);
  /// Reads to the end and returns the exit code, -1 where it did not end in time.
  int finish(int limitMs = 90'000);

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
