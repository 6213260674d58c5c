#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/messages.h"
#include "core/result.h"

namespace highwater::wire {

/// The ways in which a stream of messages can break the protocol's rules.
enum class Violation {
  kNone,
  kHelloMissing,  ///< the first frame is not Hello
  kHelloRepeated,
  kVersion,      ///< the peer uses another protocol version
  kToken,        ///< Hello lacks the token that this program issued
  kDirection,    ///< a message that only the other side may send
  kAfterEnd,     ///< a message after RunEnd
  kUnknownEnum,  ///< an enum's value outside of its definition
  kUndefinedId,  ///< an id that was not defined before its use
  kRedefinedId,
  kIdOutOfRange,
  kTimeOutOfRange,    ///< before the run, or well past its batch's completeUpToNs
  kTimeWentBack,      ///< completeUpToNs or a step's begin earlier than the previous one
  kSampleTooLate,     ///< a sample after more than kMaxNewerSamples newer ones
  kStepWentBack,      ///< a step's number, or a device span's, not above the previous one
  kNumberOutOfRange,  ///< an impossible size, count or ratio
  kTextTooLong,
  kDefinitionsTooLarge,  ///< definitions beyond kMaxDefinitionBytes
};
/// The name of a violation as users see it: "undefined id".
[[nodiscard]] std::string_view violationName(Violation violation);

/// Where a stream of messages comes from: from a running worker, or from a recording. A recording
/// may also hold RunEnd, FallbackAcceptance and Note, which the host wrote.
enum class StreamSource { kWorker, kRecording };

/// Checks the messages of one run, live or recorded, against the protocol's rules. Not thread-safe.
class Validator {
 public:
  /// Makes a validator for a stream that comes from `source`. A worker's Hello must carry exactly
  /// `token`: a secret for a worker that was started elsewhere and attaches, empty for one that the
  /// session launched. The token in a recording is not checked.
  explicit Validator(StreamSource source, std::string token = {})
      : source_(source), token_(std::move(token)) {}

  /// Checks the next message. Fails with kVersionMismatch for another protocol version and with
  /// kMalformed for any other violation; the error's text begins with the violation's name. After
  /// an error the stream must not be continued.
  [[nodiscard]] Result<void> check(const Message& message);

  /// What was wrong with the message that check() refused; kNone if it has refused none.
  [[nodiscard]] Violation violation() const { return violation_; }

 private:
  /// The times of the kMaxNewerSamples newest samples of one kind, sorted.
  class NewestTimes {
   public:
    /// False where that many samples are newer than `ns`; it is then not added.
    [[nodiscard]] bool add(std::int64_t ns);

   private:
    std::deque<std::int64_t> times_;
  };

  [[nodiscard]] Result<void> refuse(Violation violation, std::string detail);
  [[nodiscard]] Result<void> checkHello(const Hello& hello);
  [[nodiscard]] Result<void> checkDescription(const RunDescription& run);
  [[nodiscard]] Result<void> checkDefinitions(const Definitions& definitions);
  [[nodiscard]] Result<void> checkBatch(const EventBatch& batch);
  [[nodiscard]] Result<void> checkSteps(const EventBatch& batch);
  [[nodiscard]] Result<void> checkEnd(const RunEnd& end);
  [[nodiscard]] Result<void> checkKnobs(const ScriptKnob& knob);
  [[nodiscard]] Result<void> checkAcceptance(const FallbackAcceptance& acceptance);
  [[nodiscard]] Result<void> checkNote(const Note& note);

  /// Marks `id` as defined; fails where it is defined already or not in [first, cap).
  [[nodiscard]] Result<void> define(std::vector<bool>& known, std::uint32_t id, std::uint32_t first,
                                    std::uint32_t cap, std::string_view what);
  /// Adds to the size of all definitions; fails beyond kMaxDefinitionBytes.
  [[nodiscard]] Result<void> countText(std::uint64_t bytes);
  /// The same for a definition with a parent. `chainBytes` holds, by id, the length of each
  /// definition's text with that of its parents.
  [[nodiscard]] Result<void> countChain(std::vector<std::uint64_t>& chainBytes, std::uint32_t id,
                                        std::uint32_t parent, std::uint64_t bytes);

  StreamSource source_;
  std::string token_;
  Violation violation_ = Violation::kNone;
  bool greeted_ = false;
  bool ended_ = false;
  std::vector<bool> names_, modules_, callSites_, threads_;
  std::vector<std::uint64_t> modulePathBytes_, callStackBytes_;
  std::uint64_t definitionBytes_ = 0;
  NewestTimes memoryTimes_, systemTimes_, machineTimes_, hostTimes_;
  std::int64_t completeUpToNs_ = 0;
  std::uint32_t lastStep_ = 0;
  std::int64_t lastStepBeginNs_ = 0;
  std::uint32_t lastDeviceSpanStep_ = 0;
  std::set<std::string> knobNames_;
  std::size_t notes_ = 0;
};

}  // namespace highwater::wire
