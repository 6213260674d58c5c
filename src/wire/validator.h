#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/messages.h"
#include "core/result.h"

namespace highwater::wire {

/// What a stream can do wrong. Each has a name that the user sees.
enum class Violation {
  kNone,
  kHelloMissing,  ///< the first frame is not Hello
  kHelloRepeated,
  kVersion,      ///< the peer speaks another version
  kToken,        ///< the token is not the one that was handed out
  kDirection,    ///< a frame that this side never sends
  kAfterEnd,     ///< a frame after RunEnd
  kUnknownEnum,  ///< an enum's value outside of its definition
  kUndefinedId,  ///< an id that no definition came before
  kRedefinedId,
  kIdOutOfRange,
  kTimeOutOfRange,    ///< before the run, or well past its batch's completeUpToNs
  kTimeWentBack,      ///< completeUpToNs or a step's begin before the previous one
  kStepWentBack,      ///< a step's number, or a device span's, is not larger than the previous one
  kNumberOutOfRange,  ///< a size, count or ratio that cannot be
  kTextTooLong,
};
[[nodiscard]] std::string_view violationName(Violation violation);

/// Where a stream comes from: a recording may also hold the RunEnd that the session wrote.
enum class StreamSource { kWorker, kRecording };

/// Judges one worker's stream, message by message, live or from a recording.
class Validator {
 public:
  /// `token`: what Hello must carry; empty for a launched worker. A recording's token is not
  /// judged.
  explicit Validator(StreamSource source, std::string token = {})
      : source_(source), token_(std::move(token)) {}

  /// Accepts the message or says which rule it breaks. kVersionMismatch for another protocol
  /// version, else kMalformed; the text begins with the violation's name.
  [[nodiscard]] Result<void> check(const Message& message);

  /// The rule that the last refused message broke.
  [[nodiscard]] Violation violation() const { return violation_; }

 private:
  [[nodiscard]] Result<void> refuse(Violation violation, std::string detail);
  [[nodiscard]] Result<void> checkHello(const Hello& hello);
  [[nodiscard]] Result<void> checkDescription(const RunDescription& run);
  [[nodiscard]] Result<void> checkDefinitions(const Definitions& definitions);
  [[nodiscard]] Result<void> checkBatch(const EventBatch& batch);

  [[nodiscard]] Result<void> checkEnd(const RunEnd& end);
  [[nodiscard]] Result<void> checkAcceptance(const FallbackAcceptance& acceptance);

  StreamSource source_;
  std::string token_;
  Violation violation_ = Violation::kNone;
  bool greeted_ = false;
  bool ended_ = false;
  std::vector<bool> names_, modules_, callSites_, threads_;
  std::int64_t completeUpToNs_ = 0;
  std::uint32_t lastStep_ = 0;
  std::int64_t lastStepBeginNs_ = 0;
  std::uint32_t lastDeviceSpanStep_ = 0;
};

}  // namespace highwater::wire
