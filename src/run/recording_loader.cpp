#include "run/recording_loader.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/units.h"
#include "store/recording_reader.h"
#include "wire/codec.h"
#include "wire/event_checks.h"

namespace highwater::run {

std::string damageText(const std::filesystem::path& path, const RecordingCondition& condition) {
  // What else is damaged follows from that, and nobody reads it.
  if (condition.cutOff) return condition.damage.front();
  std::string text = '"' + path.string() + "\" is damaged: ";
  for (const std::string& each : condition.damage) {
    text += (&each == condition.damage.data() ? "" : "; ") + each;
  }
  return text;
}

namespace {

/// Decodes and checks messages of one recording.
class MessageReader {
 public:
  MessageReader(const std::filesystem::path& path, const LoadControl& control)
      : path_(path),
        control_(control),
        soFar_(control.soFar ? control.soFar : std::make_shared<ReadSoFar>()) {}

  Result<Message> decode(std::span<const std::uint8_t> frame) {
    if (control_.cancelled && control_.cancelled()) return failure("the reading was cancelled");
    auto message = wire::decode(frame);
    if (!message) return damaged(message.error());
    return message;
  }
  Result<void> check(const Message& message) {
    if (auto valid = soFar_->validator.check(message); !valid) return damaged(valid.error());
    return {};
  }

  [[nodiscard]] Error damaged(const Error& error) const {
    return {error.code, path_.filename().string() + " is damaged: " + error.message};
  }

 private:
  const std::filesystem::path& path_;
  const LoadControl& control_;
  std::shared_ptr<ReadSoFar> soFar_;
};

/// Fails if the recording is of another run than `of`.
Result<void> checkRun(const std::filesystem::path& path, const store::RecordingReader& reader,
                      const std::optional<RunId>& of) {
  if (!of) return {};
  const auto found = readRunId(reader);
  if (!found) return found.error();
  if (*found != of) return holdsAnotherRun(path);
  return {};
}

/// The events of a batch that an overview shows. Owns them.
struct OverviewBatch {
  std::vector<events::StepRecord> steps;
  std::vector<events::MemorySample> memorySamples;
  std::vector<events::SystemSample> systemSamples;
  std::vector<events::MachineSample> machineSamples;
  std::int64_t completeUpToNs = 0;

  explicit OverviewBatch(const EventBatch& batch)
      : steps(batch.steps.begin(), batch.steps.end()),
        memorySamples(batch.memorySamples.begin(), batch.memorySamples.end()),
        systemSamples(batch.systemSamples.begin(), batch.systemSamples.end()),
        machineSamples(batch.machineSamples.begin(), batch.machineSamples.end()),
        completeUpToNs(batch.completeUpToNs) {}

  [[nodiscard]] EventBatch view() const {
    EventBatch batch;
    batch.steps = steps;
    batch.memorySamples = memorySamples;
    batch.systemSamples = systemSamples;
    batch.machineSamples = machineSamples;
    batch.completeUpToNs = completeUpToNs;
    return batch;
  }
};

/// An overview reads no more than every fourth batch: the whole is to be read next.
constexpr std::int64_t kOverviewPart = 4;

/// The numbers 2 to count - 1, such that any number of the first ones are spread over all: by
/// halves, quarters, eighths.
std::vector<std::int64_t> spreadOrder(std::int64_t count) {
  std::vector<std::int64_t> order;
  std::int64_t stride = 1;
  while (stride < count) stride *= 2;
  for (; stride >= 1; stride /= 2) {
    // The multiples of this stride that are none of the one before.
    for (std::int64_t id = stride; id < count; id += 2 * stride) {
      if (id > 1) order.push_back(id);
    }
  }
  return order;
}

}  // namespace

namespace {

/// What a reading came to: why its messages ended early, if they did, and whether a Hello was among
/// them.
struct Replay {
  std::optional<Error> damaged;  ///< kMalformed, kVersionMismatch or kOutOfMemory
  bool described = false;
  RecordingCondition condition;
};

/// What a reading may hold of samples and events, in bytes: in columns they take twice as much.
std::uint64_t mostBytesOf(const LoadControl& control) {
  if (control.mostBytes > 0) return control.mostBytes;
  const long pages = ::sysconf(_SC_PHYS_PAGES), pageBytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || pageBytes <= 0) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(pageBytes) / 4;
}

/// The bytes of a message's events, without ops.
std::uint64_t bytesBesideOps(const Message& message) {
  const auto* batch = std::get_if<EventBatch>(&message);
  if (!batch) return 0;
  std::uint64_t bytes = 0;
  batch->forEachKind([&bytes](const auto& events) { bytes += events.size_bytes(); });
  return bytes - batch->ops.size_bytes();
}

Error tooLarge(const std::filesystem::path& path, std::uint64_t bytes) {
  return {
      ErrorCode::kOutOfMemory,
      path.filename().string() + " holds more than " + formatBytes(bytes) +
          " of samples and events, too much for the memory of this machine. Open it on a machine "
          "with more memory, or export its tables: highwater export FILE --to run.sqlite"};
}

Result<Replay> replay(const std::filesystem::path& path, MessageSink& sink,
                      const LoadControl& control) {
  auto reader = store::RecordingReader::open(path);
  if (!reader) return reader.error();
  MessageReader messages(path, control);
  const Result<std::int64_t> count = reader->batchCount();
  const auto tellProgress = [&](std::int64_t batch) {
    if (control.soFar) control.soFar->batches = batch;
    if (control.progressed && count && *count > 0) {
      control.progressed(static_cast<double>(batch - 1) / static_cast<double>(*count));
    }
  };
  Replay result;
  const std::uint64_t mostBytes = mostBytesOf(control);
  std::uint64_t bytes = 0;
  const auto replayed = reader->forEachFrame(
      [&](std::span<const std::uint8_t> frame) -> Result<void> {
        const auto message = messages.decode(frame);
        if (!message) return message.error();
        if (auto valid = messages.check(*message); !valid) return valid;
        bytes += bytesBesideOps(*message);
        if (bytes > mostBytes) return tooLarge(path, mostBytes);
        sink.take(frame, *message);
        result.described = result.described || std::holds_alternative<Hello>(*message);
        return {};
      },
      tellProgress);
  if (!replayed) {
    const ErrorCode code = replayed.error().code;
    const bool isPartial = code == ErrorCode::kMalformed || code == ErrorCode::kVersionMismatch ||
                           code == ErrorCode::kOutOfMemory;
    if (!isPartial) {
      return replayed.error();
    }
    result.damaged = replayed.error();
  }
  result.condition = {reader->beingWritten(), reader->lostEnd()};
  return result;
}

}  // namespace

Result<RecordingCondition> loadRecording(const std::filesystem::path& path, MessageSink& sink,
                                         const LoadControl& control) {
  auto read = replay(path, sink, control);
  if (!read) return read.error();
  if (!read->damaged) return std::move(read->condition);
  if (read->damaged->code == ErrorCode::kMalformed && !read->condition.damage.empty()) {
    return Error{ErrorCode::kMalformed,
                 read->damaged->message + "; " + read->condition.damage.front()};
  }
  return *read->damaged;
}

Result<RecordingCondition> loadReadablePart(const std::filesystem::path& path, MessageSink& sink,
                                            const LoadControl& control) {
  auto read = replay(path, sink, control);
  if (!read) return read.error();
  RecordingCondition& condition = read->condition;
  if (read->damaged) {
    const std::string& why = read->damaged->message;
    if (!read->described) return *read->damaged;
    std::erase_if(condition.damage,
                  [&why](const std::string& each) { return why.find(each) != std::string::npos; });
    condition.damage.insert(condition.damage.begin(), why);
    condition.cutOff = true;
  }
  return std::move(condition);
}

Result<bool> readOn(const std::filesystem::path& path, ReadSoFar& soFar, MessageSink& sink,
                    std::int64_t mostBatches, const std::optional<RunId>& of) {
  auto reader = store::RecordingReader::open(path);
  if (!reader) return reader.error();
  if (auto same = checkRun(path, *reader, of); !same) return same.error();
  const Result<std::int64_t> count = reader->batchCount();
  if (!count) return count.error();
  // Shares the caller's state, and owns nothing of it.
  const LoadControl control{{}, {}, std::shared_ptr<ReadSoFar>(std::shared_ptr<void>(), &soFar)};
  MessageReader messages(path, control);
  const std::int64_t last = std::min(*count, soFar.batches + mostBatches);
  while (soFar.batches < last) {
    const auto read = reader->forEachFrameOf(
        soFar.batches + 1, [&](std::span<const std::uint8_t> frame) -> Result<void> {
          const auto message = messages.decode(frame);
          if (!message) return message.error();
          if (auto valid = messages.check(*message); !valid) return valid;
          sink.take(frame, *message);
          return {};
        });
    if (!read) return read.error();
    ++soFar.batches;
  }
  return reader->beingWritten() || last < *count;
}

Result<void> loadOverview(const std::filesystem::path& path, MessageSink& sink, int milliseconds,
                          const LoadControl& control) {
  const auto start = std::chrono::steady_clock::now();
  const auto timeIsUp = [&] {
    return std::chrono::steady_clock::now() - start > std::chrono::milliseconds(milliseconds);
  };
  auto reader = store::RecordingReader::open(path);
  if (!reader) return reader.error();
  const Result<std::int64_t> count = reader->batchCount();
  if (!count) return count.error();
  MessageReader messages(path, control);
  std::map<std::int64_t, std::vector<OverviewBatch>> read;  // by batch of frames
  const auto readBatch = [&](std::int64_t id) {
    return reader->forEachFrameOf(id, [&](std::span<const std::uint8_t> frame) -> Result<void> {
      const auto message = messages.decode(frame);
      if (!message) return message.error();
      if (const auto* batch = std::get_if<EventBatch>(&*message)) {
        read[id].emplace_back(*batch);
        return {};
      }
      const bool describes = std::holds_alternative<Hello>(*message) ||
                             std::holds_alternative<RunDescription>(*message);
      if (id != 1 || !describes) return {};
      if (auto valid = messages.check(*message); !valid) return valid;
      sink.take(frame, *message);
      return {};
    });
  };
  if (auto done = readBatch(1); !done) return done.error();
  if (auto done = readBatch(*count); *count > 1 && !done) return done.error();
  std::int64_t batches = 2;
  for (const std::int64_t id : spreadOrder(*count)) {
    if (timeIsUp() || batches >= *count / kOverviewPart) break;
    if (auto done = readBatch(id); !done) return done.error();
    ++batches;
  }
  for (const auto& [id, parts] : read) {
    for (const OverviewBatch& part : parts) {
      const Message message = part.view();
      if (auto valid = messages.check(message); !valid) return valid.error();
      sink.take({}, message);
    }
  }
  return {};
}

Result<std::optional<std::vector<events::OpSpan>>> readOps(const std::filesystem::path& path,
                                                           std::int64_t beginNs, std::int64_t endNs,
                                                           std::size_t most,
                                                           const LoadControl& control) {
  auto reader = store::RecordingReader::open(path);
  if (!reader) return reader.error();
  if (auto same = checkRun(path, *reader, control.of); !same) return same.error();
  const auto ids = reader->batchesWith(events::EventKind::OpSpan, beginNs, endNs);
  if (!ids) return ids.error();
  MessageReader messages(path, control);
  // The definitions came in other batches: any id may be one of theirs.
  const std::vector<bool> names(kMaxNames, true), modules(kMaxModules, true),
      callSites(kMaxCallSites, true), threads(kMaxThreads, true);
  std::vector<events::OpSpan> ops;
  bool tooMany = false;
  for (const std::int64_t id : *ids) {
    const auto read =
        reader->forEachFrameOf(id, [&](std::span<const std::uint8_t> frame) -> Result<void> {
          const auto message = messages.decode(frame);
          if (!message) return message.error();
          const auto* batch = std::get_if<EventBatch>(&*message);
          if (!batch) return {};
          const wire::EventContext context{names, modules, callSites, threads,
                                           batch->completeUpToNs};
          for (const events::OpSpan& op : batch->ops) {
            if (const auto broken = wire::checkEvent(op, context);
                broken.violation != wire::Violation::kNone) {
              return messages.damaged({ErrorCode::kMalformed, broken.detail + " is out of range"});
            }
            ops.push_back(op);
          }
          tooMany = ops.size() > most;
          return tooMany ? Result<void>(failure("too many ops")) : Result<void>();
        });
    if (tooMany) return std::optional<std::vector<events::OpSpan>>();
    if (!read) return read.error();
  }
  return std::optional(std::move(ops));
}

}  // namespace highwater::run
