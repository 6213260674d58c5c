#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/messages.h"
#include "core/result.h"
#include "process/command_reader.h"

namespace highwater::python {

/// Carries the host's commands to a script, which takes them between its steps. Any thread.
class ScriptControl final : public process::CommandTarget {
 public:
  void welcome() override;
  [[nodiscard]] CommandResult obey(const Command& command) override;

  /// Blocks until the host has accepted the connection; false where it has not within `limit`, or
  /// is gone.
  [[nodiscard]] bool waitForWelcome(std::chrono::milliseconds limit);
  /// Notes that nobody directs the script any more: it is resumed, and trains on. `why` is for its
  /// user to read; "": whoever ended Highwater knows.
  void hostGone(std::string why = {});
  [[nodiscard]] bool isHostGone() const { return gone_.load(); }

  /// The level from now on, and after one for some steps.
  void setLevel(events::ProbeLevel level);
  /// Notes the step that runs.
  void setStep(std::uint32_t step);
  /// The script offers a knob. Knobs count from 0, in the order in which they are offered.
  void offer(const ScriptKnob& knob);

  /// What the script has to do.
  struct Order {
    enum class Kind : std::uint8_t {
      kPause,
      kResume,
      kStop,
      kEmptyCache,
      kLevel,
      kKnob,
      kTell,
      kTry
    };
    Kind kind = Kind::kStop;
    events::ProbeLevel level = events::ProbeLevel::None;  ///< of kLevel
    std::size_t knob = 0;                                 ///< of kKnob and kTry: which one
    double value = 0;                                     ///< of kKnob: what to set it to
    std::string text{};                                   ///< of kTell: print it for the user
    TryBlock tries{};                                     ///< of kTry
  };
  /// Returns the orders since the last call, oldest first.
  [[nodiscard]] std::vector<Order> take();

 private:
  void order(Order::Kind kind) { orders_.push_back({.kind = kind}); }
  void orderLevel(events::ProbeLevel level) {
    orders_.push_back({.kind = Order::Kind::kLevel, .level = level});
  }
  [[nodiscard]] std::string carryOut(const SetScriptKnob& change);
  [[nodiscard]] std::string carryOut(const SetProbeLevel& change);
  [[nodiscard]] std::string carryOut(TryBlock tries);
  /// The place of the knob of that name. Fails with kUsage where there is none, or where it cannot
  /// have the value, if one is given.
  [[nodiscard]] Result<std::size_t> placeOf(const std::string& name,
                                            std::optional<double> value) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool welcomed_ = false;
  std::atomic<bool> gone_{false};
  std::uint32_t step_ = 0;
  std::optional<Order> endOfTry_;  ///< what ends the try that is going on
  events::ProbeLevel level_ = events::ProbeLevel::Monitor;
  std::uint32_t levelBackAt_ = 0;  ///< the step from which level_ applies again; 0: it applies
  std::vector<ScriptKnob> knobs_;
  std::vector<Order> orders_;
};

}  // namespace highwater::python
