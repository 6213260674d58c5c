#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "core/exit_codes.h"
#include "probe/readings/device_counters.h"
#include "probe/stream/event_source.h"
#include "probe/stream/frame_writer.h"
#include "probe/stream/recorder.h"
#include "probe/stream/sender.h"
#include "process/command_reader.h"
#include "process/connection.h"
#include "process/run_control.h"
#include "worker/data/data_set.h"
#include "worker/options.h"

namespace highwater::worker {

/// Loads the data set that --data names or, without it, the sample data set. Returns the errors of
/// loadDataSet() and findSampleData().
[[nodiscard]] Result<DataSet> loadData(const Options& options);

/// One run of the worker, from Hello to the last frame. Never destroy it: the thread that reads
/// commands uses it until the process ends.
class Worker {
 public:
  /// Prepares a run of the built-in workload. Sends nothing yet.
  Worker(Options options, Sizes sizes, DeviceReport device, process::Connection connection,
         RunClock clock);

  /// Checks that the device has the precision and the memory fraction of the options. Returns
  /// kUsage where it has not.
  [[nodiscard]] Result<void> checkSettings() const;
  /// Schedules the knob changes that --set asks for. Returns kUsage where one is out of range or
  /// past the last step.
  [[nodiscard]] Result<void> scheduleChanges();
  /// Sends Hello, trains as the host directs, and sends Goodbye or a Failure. Blocks until then.
  /// Returns the exit code of the process.
  [[nodiscard]] ExitCode run();

 private:
  void onHostGone();
  void onProtocolViolation(const std::string& what);
  [[nodiscard]] bool sendHello();
  void startReading();
  [[nodiscard]] ExitCode train();
  [[nodiscard]] ExitCode fail(Failure::Kind kind, const std::string& message);
  [[nodiscard]] ExitCode end(std::uint32_t stepsDone, bool stoppedOnRequest);

  Options options_;
  Sizes sizes_;
  DeviceReport device_;
  process::Connection connection_;
  KnobLimits limits_;
  process::RunControl control_;
  probe::Recorder recorder_;
  probe::FrameWriter writer_;
  std::unique_ptr<probe::CounterSource> counters_;
  std::unique_ptr<probe::EventSource> events_;
  std::unique_ptr<process::CommandReader> reader_;
  std::mutex violationMutex_;
  std::string violation_;  ///< how the host broke the protocol; empty: it did not
};

}  // namespace highwater::worker
