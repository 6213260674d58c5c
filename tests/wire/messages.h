#pragma once

#include <random>
#include <vector>

#include "core/messages.h"
#include "wire/limits.h"

/// Valid messages for the tests of wire/.
namespace highwater::test {

inline Hello hello() {
  Hello m;
  m.protocolVersion = wire::kProtocolVersion;
  m.workerVersion = "0.1.0";
  m.torchVersion = "2.13.0";
  m.blas = "OpenBLAS (/usr/lib/libopenblas.so.0)";
  m.platform = "Linux x86_64";
  m.processId = 4711;
  m.clock = {123'456'789, 1'700'000'000'000'000'000};
  m.device = {"auto", "mps", true, false, false, "no Metal on Linux"};
  m.limits = {8ull << 30, 1.4, 1.7, 16ull << 30, 12ull << 30};
  m.environment = {{"PYTORCH_ENABLE_MPS_FALLBACK", "1"}, {"OMP_NUM_THREADS", std::nullopt}};
  m.workStart = WorkStart::kDeferred;
  return m;
}

inline RunDescription description() {
  RunDescription m;
  m.workload = "issue-classifier";
  m.preset = "small";
  m.dtype = "float32";
  m.dataset = "issue-texts.train.csv";
  m.labels = {"needs_docs", "needs_test", "needs_review"};
  m.knobs = {16, 64, 10, 3e-4, 4, Precision::kFloat16, 1.7, true, OutOfMemoryPolicy::kHalve};
  m.maxBatchSize = 4096;
  m.maxSequenceLength = 512;
  m.plannedSteps = 200;
  return m;
}

inline RunDescription scriptDescription() {
  RunDescription m;
  m.workload = "train.py";
  m.dtype = "float32";
  m.ownScript = true;
  m.model = "Classifier";
  m.optimizer = "AdamW";
  m.stepsAre = StepsAre::kTold;
  m.loader = {4, true};
  m.firstStep = 3;
  m.epochSamples = 4096;
  m.signs = {{"retain_graph", "train.py:41"}, {"unused_gradients", "train.py:12", "Teacher", 0.75}};
  return m;
}

inline ScriptKnob scriptKnob() {
  ScriptKnob m;
  m.name = "batch_size";
  m.kind = ScriptKnob::Kind::kInteger;
  m.value = 32;
  m.minimum = 1;
  m.maximum = 512;
  m.declaredAt = "train.py:33";
  m.warning = "fixed at the start";
  return m;
}

inline Definitions definitions() {
  Definitions m;
  m.names = {{2, "aten::_local_scalar_dense"}, {3, "aten::copy_", 7}};
  m.modules = {{2, kNoId, "encoder"}, {3, 2, "layers"}};
  m.callSites = {{2, kNoId, "trainStep", "training_loop.cpp", 41, "model.train()"}};
  m.threads = {{1, "training"}};
  return m;
}

/// A valid batch with one event of each kind. It owns the events that view() points to.
struct GoodBatch {
  events::MemorySample memory{1000, 100, 200, 300, events::SampleOrigin::Timer};
  events::SystemSample system{1000, 5, -1, -1, -1, events::Pressure::Unknown};
  events::StepRecord step{1000, 500, 100, 200, -1, 1, 16, 64, 1024, 1.1f, 1, 1};
  events::PhaseSpan phase{1000, 100, 1, 1, events::Phase::Forward};
  events::SyncPoint sync{
      1100, 10, 4, 1, 2, 3, 2, 1, events::SyncKind::ScalarRead, events::Phase::LossRead, 1};
  events::FallbackEvent fallback{1200, 20, 5, 64, 64, 1, 3, 2, 2, 1, events::Phase::Forward};
  events::Marker marker{1300, 16, 32, 2, kNoId, events::MarkerKind::BatchSize};
  events::Evaluation evaluation{1400, 1, 120, 0.5f, 1.0f};
  events::OpenSpan open{1300, 1500, 1, 2, 1, 0, events::Phase::Forward};
  events::Heartbeat heartbeat{1500, 1, 0};
  events::DropRecord drop{1500, 3, events::EventKind::MemorySample};
  events::DeviceSpan deviceSpan{1600, 400, 1};
  events::OpSpan op{1000, 50, 4096, 1024, 1, 3, 2, 2, 1, 0, events::Phase::Forward, 0};
  events::PhaseMemory phaseMemory{1600, 4096, 8192, 2048, 1, events::Phase::Forward};
  events::NamedSpan named{1000, 100, 1, 2, 1, 0};
  events::MachineSample machine{
      1000, 4096, -1, 8192, -1, events::ThermalState::Serious, events::PowerMode::Unknown};
  events::HostSample host{1500, 1, 2, 1, events::Phase::None};
  events::OpWork opWork{1700, 4096, 8192, 1, 2, 2, 3, 2, 2, events::Phase::Forward, 0};
  std::int64_t completeUpToNs = 2000;

  [[nodiscard]] EventBatch view() const {
    EventBatch batch;
    batch.completeUpToNs = completeUpToNs;
    batch.memorySamples = {&memory, 1};
    batch.systemSamples = {&system, 1};
    batch.steps = {&step, 1};
    batch.phases = {&phase, 1};
    batch.syncPoints = {&sync, 1};
    batch.fallbacks = {&fallback, 1};
    batch.markers = {&marker, 1};
    batch.evaluations = {&evaluation, 1};
    batch.openSpans = {&open, 1};
    batch.heartbeats = {&heartbeat, 1};
    batch.drops = {&drop, 1};
    batch.deviceSpans = {&deviceSpan, 1};
    batch.ops = {&op, 1};
    batch.phaseMemory = {&phaseMemory, 1};
    batch.namedSpans = {&named, 1};
    batch.machineSamples = {&machine, 1};
    batch.hostSamples = {&host, 1};
    batch.opWork = {&opWork, 1};
    return batch;
  }
};

}  // namespace highwater::test
