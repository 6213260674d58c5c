#include "window/start/recording_preview.h"

#include <QFileInfo>
#include <algorithm>

#include "core/message_sink.h"
#include "core/units.h"
#include "models/qt_text.h"
#include "run/recording_loader.h"
#include "store/recording_file.h"
#include "views/lanes/event_text.h"
#include "window/tr.h"

namespace highwater::window {
namespace {

/// The memory of a run of any length in at most kMost stretches: when there are too many, each two
/// become one.
class MemoryOutline {
 public:
  void add(std::int64_t timeNs, std::uint64_t current, std::uint64_t driver) {
    if (timeNs < 0) return;
    while (timeNs / stretchNs_ >= kMost) halve();
    const auto index = static_cast<std::size_t>(timeNs / stretchNs_);
    const auto now = static_cast<float>(current);
    const MemoryStretch sample{now, now, static_cast<float>(driver)};
    if (index < stretches_.size()) return merge(stretches_[index], sample);
    // Stretches without a sample are as the one before.
    if (!stretches_.empty()) stretches_.resize(index, stretches_.back());
    stretches_.resize(index + 1, sample);
  }
  [[nodiscard]] std::vector<MemoryStretch> take() { return std::move(stretches_); }

 private:
  static constexpr std::int64_t kMost = 512;

  static void merge(MemoryStretch& into, const MemoryStretch& other) {
    into.leastCurrent = std::min(into.leastCurrent, other.leastCurrent);
    into.current = std::max(into.current, other.current);
    into.driver = std::max(into.driver, other.driver);
  }
  void halve() {
    for (std::size_t i = 0; i < stretches_.size(); i += 2) {
      MemoryStretch merged = stretches_[i];
      if (i + 1 < stretches_.size()) merge(merged, stretches_[i + 1]);
      stretches_[i / 2] = merged;
    }
    stretches_.resize((stretches_.size() + 1) / 2);
    stretchNs_ *= 2;
  }

  std::int64_t stretchNs_ = 50'000'000;
  std::vector<MemoryStretch> stretches_;
};

/// Keeps of a run only what the list shows: a live store of a long run takes gigabytes.
class PreviewSink final : public MessageSink {
 public:
  void take(std::span<const std::uint8_t>, const Message& message) override {
    if (const auto* hello = std::get_if<Hello>(&message)) takeHello(*hello);
    if (const auto* run = std::get_if<RunDescription>(&message)) takeRun(*run);
    if (const auto* batch = std::get_if<EventBatch>(&message)) takeBatch(*batch);
    if (const auto* failure = std::get_if<Failure>(&message)) {
      outOfMemory_ = failure->kind == Failure::Kind::kOutOfMemory;
    }
    if (const auto* end = std::get_if<RunEnd>(&message)) takeEnd(*end);
  }

  void finish(RecordingPreview& preview) {
    preview.device = shown_.device;
    preview.what = shown_.what;
    preview.end = shown_.end;
    preview.lengthNs = shown_.lengthNs;
    if (shown_.begun.isValid()) preview.begun = shown_.begun;
    preview.memory = outline_.take();
  }

 private:
  void takeHello(const Hello& hello) {
    shown_.device = hello.device.simulated ? tr("simulated") : text(hello.device.selected);
    shown_.begun = QDateTime::fromMSecsSinceEpoch(hello.clock.unixEpochNs / 1'000'000);
  }
  void takeRun(const RunDescription& run) {
    shown_.what = text(run.scenario.empty() ? run.workload : run.scenario);
    if (run.knobs.batchSize > 0 && run.knobs.sequenceLength > 0) {
      shown_.what +=
          QStringLiteral(", %1 × %2").arg(run.knobs.batchSize).arg(run.knobs.sequenceLength);
    }
  }
  void takeBatch(const EventBatch& batch) {
    shown_.lengthNs = std::max(shown_.lengthNs, batch.completeUpToNs);
    for (const auto& sample : batch.of<events::MemorySample>()) {
      outline_.add(sample.time_ns(), sample.current_bytes(), sample.driver_bytes());
    }
    for (const auto& step : batch.of<events::StepRecord>()) {
      steps_ = std::max(steps_, step.step());
    }
  }
  void takeEnd(const RunEnd& end) {
    switch (end.reason) {
      case RunEnd::Reason::kFinished:
      case RunEnd::Reason::kAborted:
        return;
      case RunEnd::Reason::kStopped:
        if (end.signal == 0) return;
        break;
      default:
        break;
    }
    shown_.end =
        outOfMemory_ ? tr("out of memory after step %1").arg(steps_) : views::endMarkText(end);
  }

  RecordingPreview shown_;
  MemoryOutline outline_;
  std::uint32_t steps_ = 0;
  bool outOfMemory_ = false;
};

/// Why a file is no sound recording, in a few words. The list names the file already.
QString shortProblem(const Error& error) {
  switch (error.code) {
    case ErrorCode::kNotFound:
      return tr("file not found");
    case ErrorCode::kNoPermission:
      return tr("the file may not be read");
    case ErrorCode::kVersionMismatch:
      return tr("of a newer Highwater");
    default:
      return tr("damaged, or not a recording");
  }
}

}  // namespace

RecordingPreview fileFacts(const QString& path) {
  RecordingPreview preview;
  preview.path = path;
  const QFileInfo file(path);
  if (!file.isFile()) {
    preview.state = RecordingPreview::State::kMissing;
    preview.problem = tr("file not found");
    return preview;
  }
  preview.begun = preview.changed = file.lastModified();
  preview.bytes = static_cast<qint64>(store::sizeWithWal(path.toStdString()));
  return preview;
}

RecordingPreview readPreview(const QString& path, const std::function<bool()>& cancelled) {
  using State = RecordingPreview::State;
  RecordingPreview preview = fileFacts(path);
  if (preview.state == State::kMissing || cancelled()) return preview;
  PreviewSink sink;
  const auto condition = run::loadRecording(path.toStdString(), sink, {cancelled, {}});
  if (cancelled()) return preview;
  sink.finish(preview);
  if (!condition) {
    preview.state =
        condition.error().code == ErrorCode::kNotFound ? State::kMissing : State::kDamaged;
    preview.problem = shortProblem(condition.error());
    preview.detail = text(condition.error().message);
  } else if (!condition->damage.empty()) {
    preview.state = State::kDamaged;
    preview.problem = tr("damaged");
    preview.detail = text(run::damageText(path.toStdString(), *condition));
  } else {
    preview.state = condition->beingWritten ? State::kBeingWritten : State::kRead;
  }
  if (preview.state == State::kDamaged && preview.lengthNs > 0) {
    preview.problem = tr("damaged, %1 readable").arg(text(formatRunTime(preview.lengthNs, 0)));
  }
  return preview;
}

}  // namespace highwater::window
