#include "wire/validator.h"

#include <algorithm>
#include <cmath>

#include "core/overloaded.h"
#include "wire/event_checks.h"
#include "wire/limits.h"

namespace highwater::wire {
namespace {

bool isRatio(double value) {
  return std::isfinite(value) && value >= 0 && value <= 1000;
}

}  // namespace

std::string_view violationName(Violation violation) {
  switch (violation) {
    case Violation::kNone:
      return "none";
    case Violation::kHelloMissing:
      return "hello missing";
    case Violation::kHelloRepeated:
      return "hello repeated";
    case Violation::kVersion:
      return "protocol version";
    case Violation::kToken:
      return "wrong token";
    case Violation::kDirection:
      return "wrong direction";
    case Violation::kAfterEnd:
      return "frame after the end";
    case Violation::kUnknownEnum:
      return "unknown value";
    case Violation::kUndefinedId:
      return "undefined id";
    case Violation::kRedefinedId:
      return "redefined id";
    case Violation::kIdOutOfRange:
      return "id out of range";
    case Violation::kTimeOutOfRange:
      return "time out of range";
    case Violation::kTimeWentBack:
      return "time went back";
    case Violation::kSampleTooLate:
      return "sample too late";
    case Violation::kStepWentBack:
      return "step went back";
    case Violation::kNumberOutOfRange:
      return "number out of range";
    case Violation::kTextTooLong:
      return "text too long";
    case Violation::kDefinitionsTooLarge:
      return "definitions too large";
  }
  return "unknown violation";
}

Result<void> Validator::refuse(Violation violation, std::string detail) {
  violation_ = violation;
  const ErrorCode code =
      violation == Violation::kVersion ? ErrorCode::kVersionMismatch : ErrorCode::kMalformed;
  return Error{code, std::string(violationName(violation)) + ": " + std::move(detail)};
}

Result<void> Validator::check(const Message& message) {
  const bool followsEnd =
      std::holds_alternative<FallbackAcceptance>(message) || std::holds_alternative<Note>(message);
  if (ended_ && !followsEnd) {
    return refuse(Violation::kAfterEnd, "a frame follows the end of the run");
  }
  const bool isHello = std::holds_alternative<Hello>(message);
  // A recording of a worker that failed to start holds only RunEnd.
  const bool isEnd = std::holds_alternative<RunEnd>(message);
  if (!greeted_ && !isHello && !(isEnd && source_ == StreamSource::kRecording)) {
    return refuse(Violation::kHelloMissing, "the stream does not begin with Hello");
  }
  return std::visit(
      Overloaded{
          [this](const Hello& m) { return checkHello(m); },
          [this](const RunDescription& m) { return checkDescription(m); },
          [this](const Definitions& m) { return checkDefinitions(m); },
          [this](const EventBatch& m) { return checkBatch(m); },
          [this](const CommandResult& m) -> Result<void> {
            if (m.message.size() > kMaxTextBytes) {
              return refuse(Violation::kTextTooLong, "the answer to a command");
            }
            return {};
          },
          [this](const Failure& m) -> Result<void> {
            const auto kind = static_cast<int>(m.kind);
            if (kind < 1 || kind > 4) {
              return refuse(Violation::kUnknownEnum, "failure kind " + std::to_string(kind));
            }
            if (m.message.size() > kMaxTextBytes) {
              return refuse(Violation::kTextTooLong, "the message of a failure");
            }
            return {};
          },
          [](const Goodbye&) -> Result<void> { return {}; },
          [this](const Welcome&) { return refuse(Violation::kDirection, "a worker sent Welcome"); },
          [this](const Command&) {
            return refuse(Violation::kDirection, "a worker sent a command");
          },
          [this](const RunEnd& m) { return checkEnd(m); },
          [this](const FallbackAcceptance& m) { return checkAcceptance(m); },
          [this](const ScriptKnob& m) { return checkKnobs(m); },
          [this](const Note& m) { return checkNote(m); },
      },
      message);
}

Result<void> Validator::checkHello(const Hello& hello) {
  if (greeted_) return refuse(Violation::kHelloRepeated, "a second Hello");
  if (hello.protocolVersion != kProtocolVersion) {
    return refuse(Violation::kVersion,
                  "the worker speaks version " + std::to_string(hello.protocolVersion) +
                      ", this program version " + std::to_string(kProtocolVersion) +
                      "; build both from the same sources");
  }
  if (source_ == StreamSource::kWorker && hello.token != token_) {
    return refuse(Violation::kToken, "the process that connected lacks the token of this run");
  }
  const std::string& device = hello.device.selected;
  if (device != "mps" && device != "cpu" && device != "cuda") {
    return refuse(Violation::kUnknownEnum, "the device is neither mps nor cpu nor cuda");
  }
  if (hello.workStart > WorkStart::kDeferred) {
    return refuse(Violation::kUnknownEnum, "when the device starts its work");
  }
  if (!isRatio(hello.limits.lowWatermarkRatio) || !isRatio(hello.limits.highWatermarkRatio)) {
    return refuse(Violation::kNumberOutOfRange, "a watermark ratio");
  }
  if (hello.limits.recommendedBytes > kMaxPlausibleBytes ||
      hello.limits.systemBytes > kMaxPlausibleBytes ||
      hello.limits.gpuWiredLimitBytes.value_or(0) > kMaxPlausibleBytes) {
    return refuse(Violation::kNumberOutOfRange, "a memory limit over 1 PiB");
  }
  if (hello.environment.size() > 1000) {
    return refuse(Violation::kNumberOutOfRange, "more than 1000 environment variables");
  }
  greeted_ = true;
  return {};
}

Result<void> Validator::checkDescription(const RunDescription& run) {
  const auto tooLong = [](const std::string& text) { return text.size() > kMaxNameBytes; };
  if (tooLong(run.workload) || tooLong(run.preset) || tooLong(run.dtype) || tooLong(run.dataset) ||
      tooLong(run.scenario) || tooLong(run.model) || tooLong(run.optimizer)) {
    return refuse(Violation::kTextTooLong, "a name in the description of the run");
  }
  if (run.signs.size() > kMaxCodeSigns) {
    return refuse(Violation::kNumberOutOfRange,
                  "more than " + std::to_string(kMaxCodeSigns) + " signs of a script's code");
  }
  for (const CodeSign& each : run.signs) {
    if (tooLong(each.what) || tooLong(each.line) || tooLong(each.text)) {
      return refuse(Violation::kTextTooLong, "a sign of a script's code");
    }
    if (!(each.share >= 0 && each.share <= 1)) {
      return refuse(Violation::kNumberOutOfRange, "the share of a sign of a script's code");
    }
  }
  const auto level = static_cast<int>(run.probeLevel);
  if (level < 1 || level > static_cast<int>(events::ProbeLevel::MAX)) {
    return refuse(Violation::kUnknownEnum, "probe level " + std::to_string(level));
  }
  if (run.labels.size() > 10'000) {
    return refuse(Violation::kNumberOutOfRange, "more than 10000 labels");
  }
  // The sizes of a script are not known before it shows them.
  const std::uint32_t least = run.ownScript ? 0 : 1;
  if (run.knobs.batchSize < least || run.knobs.batchSize > kMaxBatchSize ||
      run.maxBatchSize > kMaxBatchSize || run.openBatchSize > kMaxBatchSize) {
    return refuse(Violation::kNumberOutOfRange, "the batch size of the description");
  }
  if (run.knobs.sequenceLength < least || run.knobs.sequenceLength > kMaxSequenceLength ||
      run.maxSequenceLength > kMaxSequenceLength || run.openSequenceLength > kMaxSequenceLength) {
    return refuse(Violation::kNumberOutOfRange, "the sequence length of the description");
  }
  // The numbers are those of the enums in core/messages.h; 0 is a script or an older recording.
  if (run.knobs.precision > Precision::kFloat16 ||
      run.knobs.outOfMemory > OutOfMemoryPolicy::kHalve || run.stepsAre > StepsAre::kIterations) {
    return refuse(Violation::kUnknownEnum, "a setting of the description");
  }
  const auto isPositive = [](double value) { return std::isfinite(value) && value >= 0; };
  if (!isPositive(run.knobs.learningRate) || !isPositive(run.knobs.memoryFraction)) {
    return refuse(Violation::kNumberOutOfRange, "a setting of the description");
  }
  return {};
}

Result<void> Validator::checkKnobs(const ScriptKnob& knob) {
  if (BrokenRule broken = checkScriptKnob(knob); broken.violation != Violation::kNone) {
    return refuse(broken.violation, std::move(broken.detail));
  }
  if (knobNames_.insert(knob.name).second && knobNames_.size() > kMaxScriptKnobs) {
    return refuse(Violation::kNumberOutOfRange,
                  "more than " + std::to_string(kMaxScriptKnobs) + " knobs of a script");
  }
  return {};
}

Result<void> Validator::define(std::vector<bool>& known, std::uint32_t id, std::uint32_t first,
                               std::uint32_t cap, std::string_view what) {
  if (id < first || id >= cap) {
    return refuse(Violation::kIdOutOfRange, std::string(what) + " " + std::to_string(id) +
                                                ", allowed are " + std::to_string(first) + " to " +
                                                std::to_string(cap - 1));
  }
  if (id < known.size() && known[id]) {
    return refuse(Violation::kRedefinedId, std::string(what) + " " + std::to_string(id));
  }
  if (id >= known.size()) known.resize(id + 1, false);
  known[id] = true;
  return {};
}

Result<void> Validator::countText(std::uint64_t bytes) {
  definitionBytes_ += bytes;
  if (definitionBytes_ <= kMaxDefinitionBytes) return {};
  return refuse(Violation::kDefinitionsTooLarge,
                "names, module paths and call sites of more than " +
                    std::to_string(kMaxDefinitionBytes) + " bytes");
}

Result<void> Validator::countChain(std::vector<std::uint64_t>& chainBytes, std::uint32_t id,
                                   std::uint32_t parent, std::uint64_t bytes) {
  if (parent < chainBytes.size()) bytes += chainBytes[parent];
  if (id >= chainBytes.size()) chainBytes.resize(id + 1, 0);
  chainBytes[id] = bytes;
  return countText(bytes);
}

Result<void> Validator::checkDefinitions(const Definitions& definitions) {
  for (const NameDefinition& d : definitions.names) {
    // A name may be the text of a note, which has the limit of texts.
    if (d.text.size() > kMaxTextBytes) return refuse(Violation::kTextTooLong, "a name");
    // It may be defined later.
    if (d.callSite >= kMaxCallSites) {
      return refuse(Violation::kUndefinedId, "the call site of a name");
    }
    if (auto r = define(names_, d.id, kOtherId + 1, kMaxNames, "name"); !r) return r;
    if (auto r = countText(d.text.size()); !r) return r;
  }
  for (const ModuleDefinition& d : definitions.modules) {
    if (d.name.size() > kMaxNameBytes) return refuse(Violation::kTextTooLong, "a module's name");
    if (!isDefined(modules_, d.parent)) {
      return refuse(Violation::kUndefinedId, "parent module " + std::to_string(d.parent));
    }
    if (auto r = define(modules_, d.id, kOtherId + 1, kMaxModules, "module"); !r) return r;
    if (auto r = countChain(modulePathBytes_, d.id, d.parent, d.name.size() + 1); !r) return r;
  }
  for (const CallSiteDefinition& d : definitions.callSites) {
    if (d.function.size() > kMaxTextBytes || d.file.size() > kMaxTextBytes ||
        d.text.size() > kMaxLineTextBytes) {
      return refuse(Violation::kTextTooLong, "a call site");
    }
    if (!isDefined(callSites_, d.parent)) {
      return refuse(Violation::kUndefinedId, "parent call site " + std::to_string(d.parent));
    }
    if (auto r = define(callSites_, d.id, kOtherId + 1, kMaxCallSites, "call site"); !r) return r;
    const std::uint64_t bytes = d.function.size() + d.file.size() + d.text.size();
    if (auto r = countChain(callStackBytes_, d.id, d.parent, bytes); !r) return r;
  }
  for (const ThreadDefinition& d : definitions.threads) {
    if (d.name.size() > kMaxNameBytes) return refuse(Violation::kTextTooLong, "a thread's name");
    if (auto r = define(threads_, d.id, 1, kMaxThreads, "thread"); !r) return r;
  }
  return {};
}

bool Validator::NewestTimes::add(std::int64_t ns) {
  if (times_.size() == kMaxNewerSamples) {
    if (ns < times_.front()) return false;
    times_.pop_front();
  }
  times_.insert(std::upper_bound(times_.begin(), times_.end(), ns), ns);
  return true;
}

Result<void> Validator::checkBatch(const EventBatch& batch) {
  if (batch.completeUpToNs < 0 || batch.completeUpToNs > kMaxRunNs) {
    return refuse(Violation::kTimeOutOfRange, "completeUpToNs of a batch");
  }
  if (batch.completeUpToNs < completeUpToNs_) {
    return refuse(Violation::kTimeWentBack, "completeUpToNs of a batch");
  }
  completeUpToNs_ = batch.completeUpToNs;

  const EventContext context{names_, modules_, callSites_, threads_, completeUpToNs_};
  BrokenRule broken;
  batch.forEachKind([&](const auto& events) {
    for (const auto& event : events) {
      if (broken.violation != Violation::kNone) return;
      broken = checkEvent(event, context);
    }
  });
  if (broken.violation != Violation::kNone) {
    return refuse(broken.violation, std::move(broken.detail));
  }
  for (const auto& sample : batch.memorySamples) {
    if (!memoryTimes_.add(sample.time_ns())) {
      return refuse(Violation::kSampleTooLate, "a memory sample out of the order of time");
    }
  }
  for (const auto& sample : batch.systemSamples) {
    if (!systemTimes_.add(sample.time_ns())) {
      return refuse(Violation::kSampleTooLate, "a system sample out of the order of time");
    }
  }
  for (const auto& sample : batch.machineSamples) {
    if (!machineTimes_.add(sample.time_ns())) {
      return refuse(Violation::kSampleTooLate, "a machine sample out of the order of time");
    }
  }
  for (const auto& sample : batch.hostSamples) {
    if (!hostTimes_.add(sample.time_ns())) {
      return refuse(Violation::kSampleTooLate, "a host sample out of the order of time");
    }
  }
  return checkSteps(batch);
}

Result<void> Validator::checkSteps(const EventBatch& batch) {
  for (const events::StepRecord& step : batch.steps) {
    if (step.step() <= lastStep_) {
      return refuse(Violation::kStepWentBack,
                    "step " + std::to_string(step.step()) + " after " + std::to_string(lastStep_));
    }
    if (step.begin_ns() < lastStepBeginNs_) {
      return refuse(Violation::kTimeWentBack, "the begin of step " + std::to_string(step.step()));
    }
    lastStep_ = step.step();
    lastStepBeginNs_ = step.begin_ns();
  }
  for (const events::DeviceSpan& span : batch.deviceSpans) {
    const std::string what = "the device span of step " + std::to_string(span.step());
    if (span.step() <= lastDeviceSpanStep_) {
      return refuse(Violation::kStepWentBack,
                    what + " after that of " + std::to_string(lastDeviceSpanStep_));
    }
    if (span.step() > lastStep_) {
      return refuse(Violation::kUndefinedId, what + ", which has not ended");
    }
    lastDeviceSpanStep_ = span.step();
  }
  return {};
}

Result<void> Validator::checkAcceptance(const FallbackAcceptance& acceptance) {
  if (source_ != StreamSource::kRecording) {
    return refuse(Violation::kDirection, "a worker sent FallbackAcceptance");
  }
  if (acceptance.op.empty() || acceptance.op.size() > kMaxNameBytes) {
    return refuse(Violation::kTextTooLong, "the op of an accepted fallback");
  }
  if (acceptance.reason.size() > kMaxTextBytes) {
    return refuse(Violation::kTextTooLong, "the reason of an accepted fallback");
  }
  return {};
}

Result<void> Validator::checkNote(const Note& note) {
  if (source_ != StreamSource::kRecording) {
    return refuse(Violation::kDirection, "a worker sent Note");
  }
  if (note.timeNs < 0 || note.timeNs > kMaxRunNs) {
    return refuse(Violation::kTimeOutOfRange, "the time of a note");
  }
  if (note.text.size() > kMaxTextBytes) {
    return refuse(Violation::kTextTooLong, "the text of a note");
  }
  if (++notes_ > kMaxNotes) {
    return refuse(Violation::kNumberOutOfRange,
                  "more than " + std::to_string(kMaxNotes) + " notes");
  }
  return {};
}

Result<void> Validator::checkEnd(const RunEnd& end) {
  if (source_ != StreamSource::kRecording) {
    return refuse(Violation::kDirection, "a worker sent RunEnd");
  }
  const auto reason = static_cast<int>(end.reason);
  if (reason < 1 || reason > 8) {
    return refuse(Violation::kUnknownEnum, "reason " + std::to_string(reason));
  }
  ended_ = true;
  return {};
}

}  // namespace highwater::wire
