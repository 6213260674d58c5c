#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "step_events.h"

/// A model of a host and a device with one queue: the events that a probe would record, and what
/// the device really did.
namespace highwater::test {

inline constexpr std::int64_t kUs = 1000;

struct ModelPhase {
  events::Phase phase = events::Phase::Forward;
  int ops = 10;
  std::int64_t hostNs = 0;    ///< to queue one op
  std::int64_t deviceNs = 0;  ///< to run one
};

struct ModelStep {
  std::int64_t assemblyNs = kMs;
  std::vector<ModelPhase> phases;  ///< in this order
  std::int64_t fallbackNs = 0;     ///< on the CPU, after the first phase; 0: none
  bool readsLoss = false;          ///< after the first phase
  std::int64_t logNs = 0;          ///< after that
  bool deviceSpan = true;
};

class QueueModel {
 public:
  struct Busy {
    std::int64_t beginNs = 0, endNs = 0;
    events::Phase phase = events::Phase::None;
    std::uint32_t step = 0;
  };

  /// `commitAfter`: the device begins queued ops at a wait, at the event that ends a step with a
  /// device span, or after so many ops; 0: at once.
  explicit QueueModel(int commitAfter = 0) : commitAfter_(commitAfter) {}

  void run(const ModelStep& step) {
    ++step_;
    const std::int64_t beginNs = nowNs_;
    span(events::Phase::BatchAssembly, [&] { nowNs_ += step.assemblyNs; });
    span(events::Phase::DeviceMove,
         [&] { wait(events::SyncKind::CopyToDevice, events::Phase::DeviceMove); });
    const std::int64_t movedNs = nowNs_;
    bool first = true;
    for (const ModelPhase& phase : step.phases) {
      span(phase.phase, [&] {
        queue(phase);
        if (first && step.fallbackNs > 0) fallback(step.fallbackNs);
      });
      if (first && step.readsLoss) {
        span(events::Phase::LossRead, [&] {
          wait(events::SyncKind::ScalarRead, events::Phase::LossRead);
          nowNs_ += step.logNs;
        });
      }
      first = false;
    }
    batch_.steps.emplace_back(beginNs, nowNs_ - beginNs, 1, 1, -1, step_, 16, 64, 1024, 0, 0, 0);
    if (step.deviceSpan) {
      commit();
      const std::int64_t endNs = std::max(nowNs_, deviceFreeNs_);
      batch_.deviceSpans.emplace_back(endNs, endNs - movedNs, step_);
    }
  }

  [[nodiscard]] const OwnedBatch& batch() const { return batch_; }

  /// The idle time of the device within [beginNs, endNs).
  [[nodiscard]] std::int64_t idleNs(std::int64_t beginNs, std::int64_t endNs) const {
    std::int64_t idle = endNs - beginNs;
    for (const Busy& each : busy_) {
      idle -=
          std::max<std::int64_t>(std::min(each.endNs, endNs) - std::max(each.beginNs, beginNs), 0);
    }
    return idle;
  }
  /// From the first op of the phase to the end of its last.
  [[nodiscard]] std::int64_t executedNs(std::uint32_t step, events::Phase phase) const {
    std::int64_t first = -1, last = 0;
    for (const Busy& each : busy_) {
      if (each.step != step || each.phase != phase) continue;
      if (first < 0) first = each.beginNs;
      last = each.endNs;
    }
    return last - first;
  }

 private:
  template <typename F>
  void span(events::Phase phase, F&& f) {
    const std::int64_t beginNs = nowNs_;
    f();
    batch_.phases.emplace_back(beginNs, nowNs_ - beginNs, step_, kTrainingThread, phase);
  }

  void queue(const ModelPhase& phase) {
    for (int i = 0; i < phase.ops; ++i) {
      nowNs_ += phase.hostNs;
      encoded_.push_back({0, phase.deviceNs, phase.phase, step_});
      if (commitAfter_ == 0 || static_cast<int>(encoded_.size()) >= commitAfter_) commit();
    }
  }

  /// Lets the device begin what is queued.
  void commit() {
    for (Busy op : encoded_) {
      op.beginNs = std::max(nowNs_, deviceFreeNs_);
      deviceFreeNs_ = op.endNs += op.beginNs;
      busy_.push_back(op);
    }
    encoded_.clear();
  }

  void wait(events::SyncKind kind, events::Phase phase) {
    commit();
    const std::int64_t beginNs = nowNs_;
    nowNs_ = std::max(nowNs_, deviceFreeNs_);
    batch_.syncPoints.emplace_back(beginNs, nowNs_ - beginNs, 4, step_, kCopy, kNoId, kNoId,
                                   kTrainingThread, kind, phase, std::uint8_t{1});
  }

  void fallback(std::int64_t computeNs) {
    commit();
    const std::int64_t beginNs = nowNs_;
    const std::int64_t waitNs = std::max<std::int64_t>(deviceFreeNs_ - nowNs_, 0);
    nowNs_ += waitNs + computeNs;
    batch_.fallbacks.emplace_back(beginNs, nowNs_ - beginNs, waitNs, 8, 8, step_, kRenorm, kNoId,
                                  kNoId, kTrainingThread, events::Phase::Forward);
  }

  int commitAfter_;
  std::vector<Busy> encoded_;  ///< begin 0, end: how long it takes
  std::uint32_t step_ = 0;
  std::int64_t nowNs_ = 0;
  std::int64_t deviceFreeNs_ = 0;
  std::vector<Busy> busy_;
  OwnedBatch batch_;
};

/// The time up to which a batch has all events.
inline std::int64_t endOf(const OwnedBatch& batch) {
  return batch.steps.back().begin_ns() + batch.steps.back().duration_ns();
}

/// Hello of a run on mps, whose device begins its work so.
inline Hello helloOf(WorkStart start) {
  Hello hello;
  hello.device.selected = "mps";
  hello.workStart = start;
  return hello;
}

/// A store that has all events of a run on mps, whose device begins its work at once.
inline analysis::LiveStore storeOf(OwnedBatch batch) {
  analysis::LiveStore store;
  store.apply(helloOf(WorkStart::kEager));
  batch.completeUpToNs = endOf(batch);
  store.apply(batch.view());
  return store;
}

inline QueueModel runOf(const ModelStep& step, int steps = 12, int commitAfter = 0) {
  QueueModel model(commitAfter);
  for (int i = 0; i < steps; ++i) model.run(step);
  return model;
}

/// A step of 10 ops in each of three phases; the host takes 3 ms in all.
inline ModelStep evenStep(std::int64_t deviceUsPerOp) {
  ModelStep step;
  for (const auto phase :
       {events::Phase::Forward, events::Phase::Backward, events::Phase::OptimizerStep}) {
    step.phases.push_back({phase, 10, 100 * kUs, deviceUsPerOp * kUs});
  }
  return step;
}

/// A run of random steps, device-bound or host-bound, with and without reads, fallbacks and, unless
/// all steps shall have them, device spans.
inline QueueModel randomRun(std::mt19937& random, int steps, bool spans, int commitAfter = 0) {
  const auto upTo = [&random](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(most + 1));
  };
  QueueModel model(commitAfter);
  for (int i = 0; i < steps; ++i) {
    ModelStep step = evenStep(upTo(400));
    for (ModelPhase& phase : step.phases) phase.hostNs = upTo(300) * kUs;
    step.assemblyNs = upTo(20) * kMs;
    step.fallbackNs = random() % 3 == 0 ? upTo(5) * kMs : 0;
    step.readsLoss = random() % 2 == 0;
    step.logNs = upTo(2) * kMs;
    step.deviceSpan = spans || random() % 3 != 0;
    model.run(step);
  }
  return model;
}

}  // namespace highwater::test
