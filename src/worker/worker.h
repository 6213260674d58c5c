#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "core/exit_codes.h"
#include "probe/device_counters.h"
#include "probe/event_source.h"
#include "probe/frame_writer.h"
#include "probe/recorder.h"
#include "probe/sender.h"
#include "worker/command_reader.h"
#include "worker/connection.h"
#include "worker/data_set.h"
#include "worker/options.h"
#include "worker/run_control.h"

namespace highwater::worker {

/// The data that the options name: --data, or the sample data set.
[[nodiscard]] Result<DataSet> loadData(const Options& options);

/// One run of the worker, from Hello to its last frame. It is never destroyed: the thread that
/// reads commands may use it until the process ends.
class Worker {
 public:
  Worker(Options options, Sizes sizes, DeviceReport device, Connection connection, RunClock clock);

  /// kUsage where a --set is out of range.
  [[nodiscard]] Result<void> scheduleChanges();
  /// Says Hello, trains, says what came of it.
  [[nodiscard]] ExitCode run();

 private:
  void onHostGone();
  void onNonsense(const std::string& what);
  [[nodiscard]] bool sendHello();
  void startReading();
  [[nodiscard]] ExitCode train();
  [[nodiscard]] ExitCode fail(Failure::Kind kind, const std::string& message);
  [[nodiscard]] ExitCode end(std::uint32_t stepsDone, bool stoppedOnRequest);

  Options options_;
  Sizes sizes_;
  DeviceReport device_;
  Connection connection_;
  RunControl control_;
  probe::Recorder recorder_;
  probe::FrameWriter writer_;
  std::unique_ptr<probe::CounterSource> counters_;
  std::unique_ptr<probe::EventSource> events_;
  std::unique_ptr<CommandReader> reader_;
  std::mutex nonsenseMutex_;
  std::string nonsense_;
};

}  // namespace highwater::worker
