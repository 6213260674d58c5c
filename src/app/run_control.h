#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <filesystem>
#include <memory>

#include "analysis/live_store.h"
#include "session/recording_loader.h"
#include "session/session.h"
#include "store/recording_writer.h"

namespace highwater::app {

/// The window's one run: live, with its worker and its recording, or opened from a file. It owns
/// the store that everything on screen is drawn from.
class RunControl final : public QObject {
  Q_OBJECT

 public:
  explicit RunControl(session::LaunchOptions options, QObject* parent = nullptr);
  ~RunControl() override;

  [[nodiscard]] const analysis::LiveStore& store() const { return store_; }
  /// What the next run starts with.
  [[nodiscard]] session::LaunchOptions& options() { return options_; }

  /// Starts a worker and its recording. kFailed and the like where the recording cannot be created.
  [[nodiscard]] Result<void> run();
  /// Shows a recording. The run before it, if it still goes on, is not touched: an error says so.
  [[nodiscard]] Result<void> open(const std::filesystem::path& path);
  /// Copies the recording of the run on screen, which must have ended.
  [[nodiscard]] Result<void> saveAs(const std::filesystem::path& path) const;
  void pauseOrResume();
  void stop();
  void emptyCache();
  void setKnobs(const SetKnobs& change);
  /// Of the run that goes on; without one it is what the next run starts with. `steps` are those
  /// of a run that goes on: without one a change for some steps is dropped.
  void setProbeLevel(const SetProbeLevel& change);
  /// Keeps in the recording that an op may run on the CPU, or (`accepted` false) that it may not
  /// after all: through the session while the run goes on, else behind the frames of the file.
  [[nodiscard]] Result<void> acceptFallback(const std::string& op, bool accepted,
                                            const std::string& reason);
  /// Ends the worker at once and closes the recording: the window closes.
  void abandon();

  [[nodiscard]] session::Session::State state() const;
  [[nodiscard]] bool live() const;       ///< a worker is there
  [[nodiscard]] bool showsFile() const;  ///< what is on screen came from a recording
  [[nodiscard]] bool recording() const { return writer_ != nullptr; }
  [[nodiscard]] std::filesystem::path recordingPath() const { return recordingPath_; }
  /// Of the recording that was opened.
  [[nodiscard]] const session::RecordingCondition& condition() const { return condition_; }
  [[nodiscard]] std::uint64_t recordingBytes() const;
  [[nodiscard]] qint64 elapsedMs() const;
  [[nodiscard]] QStringList lastLines() const;

 signals:
  void stateChanged();
  /// The store holds a new run, or none.
  void runReplaced();
  void dataChanged();
  void answered(const QString& what, bool accepted, const QString& message);
  void linePrinted(const QString& line);
  /// See Session::stalled().
  void stalled(const QString& message);
  void stallEnded();
  void ended(const highwater::RunEnd& end);
  /// Something went wrong beside the run: the recording's disk is full, …
  void problem(const QString& message);

 private:
  void finish(const RunEnd& end);
  void closeWriter();

  session::LaunchOptions options_;
  analysis::LiveStore store_;
  std::unique_ptr<store::RecordingWriter> writer_;
  std::unique_ptr<session::Session> session_;  ///< after the sinks: it must go first
  std::filesystem::path recordingPath_;
  session::RecordingCondition condition_;
  std::uint64_t closedBytes_ = 0;
  QElapsedTimer started_;
  bool writerProblemTold_ = false;
};

/// Where recordings of the window go: <application data>/recordings/<workload>-<time>.highwater,
/// made if need be, never an existing file.
[[nodiscard]] Result<std::filesystem::path> newRecordingPath(const QString& workload);

}  // namespace highwater::app
