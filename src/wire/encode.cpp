#include <algorithm>
#include <string_view>

#include "core/plain_text.h"
#include "wire/codec.h"
#include "wire/frames_generated.h"
#include "wire/limits.h"

namespace highwater::wire {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
template <typename T>
using Offset = flatbuffers::Offset<T>;
using Text = Offset<flatbuffers::String>;

Text text(Builder& b, std::string_view value) {
  const std::string_view kept = cutText(value, kMaxTextBytes);
  return b.CreateString(kept.data(), kept.size());
}

template <typename T>
Offset<flatbuffers::Vector<const T*>> structs(Builder& b, std::span<const T> events) {
  if (events.empty()) return 0;
  return b.CreateVectorOfStructs(events.data(), events.size());
}

template <typename T>
struct Encoded {
  fb::Body type;
  Offset<T> offset;
};

Encoded<fb::Hello> encodeBody(Builder& b, const Hello& m) {
  std::vector<Offset<fb::EnvironmentEntry>> entries;
  for (const EnvironmentEntry& entry : m.environment) {
    const Text name = text(b, entry.name);
    const Text value = entry.value ? text(b, *entry.value) : Text{0};
    entries.push_back(fb::CreateEnvironmentEntry(b, name, value));
  }
  const auto environment = b.CreateVector(entries);
  const auto requested = text(b, m.device.requested);
  const auto selected = text(b, m.device.selected);
  const auto reason = text(b, m.device.reason);
  const auto device = fb::CreateDeviceReport(b, requested, selected, reason, m.device.simulated,
                                             m.device.mpsBuilt, m.device.mpsAvailable);
  fb::MemoryLimitsBuilder limitsBuilder(b);
  limitsBuilder.add_recommended_bytes(m.limits.recommendedBytes);
  limitsBuilder.add_low_watermark_ratio(m.limits.lowWatermarkRatio);
  limitsBuilder.add_high_watermark_ratio(m.limits.highWatermarkRatio);
  limitsBuilder.add_system_bytes(m.limits.systemBytes);
  if (m.limits.gpuWiredLimitBytes) {
    limitsBuilder.add_gpu_wired_limit_bytes(*m.limits.gpuWiredLimitBytes);
  }
  const auto limits = limitsBuilder.Finish();
  const auto clock = fb::CreateClock(b, m.clock.monotonicEpochNs, m.clock.unixEpochNs);
  const auto token = text(b, m.token);
  const auto worker = text(b, m.workerVersion);
  const auto torch = text(b, m.torchVersion);
  const auto platform = text(b, m.platform);
  const auto blas = text(b, m.blas);
  return {fb::Body::Hello, fb::CreateHello(b, m.protocolVersion, token, worker, torch, platform,
                                           m.processId, clock, device, limits, environment, blas,
                                           static_cast<std::uint8_t>(m.workStart))};
}

Encoded<fb::RunDescription> encodeBody(Builder& b, const RunDescription& m) {
  std::vector<Text> labels;
  for (const std::string& label : m.labels) labels.push_back(text(b, label));
  const auto labelVector = b.CreateVector(labels);
  const auto knobs = fb::CreateKnobs(
      b, m.knobs.batchSize, m.knobs.sequenceLength, m.knobs.lossEvery, m.knobs.learningRate,
      m.knobs.accumulation, static_cast<std::uint8_t>(m.knobs.precision), m.knobs.memoryFraction,
      m.knobs.keepEffectiveBatch, static_cast<std::uint8_t>(m.knobs.outOfMemory));
  const auto workload = text(b, m.workload);
  const auto preset = text(b, m.preset);
  const auto dtype = text(b, m.dtype);
  const auto dataset = text(b, m.dataset);
  const auto scenario = text(b, m.scenario);
  const auto model = text(b, m.model);
  const auto optimizer = text(b, m.optimizer);
  std::vector<Offset<fb::CodeSign>> signs;
  for (const CodeSign& each : m.signs) {
    const auto what = text(b, each.what), line = text(b, each.line), more = text(b, each.text);
    signs.push_back(fb::CreateCodeSign(b, what, line, more, each.share));
  }
  const auto signVector = b.CreateVector(signs);
  Offset<fb::LoaderSettings> loader;
  if (m.loader) {
    loader = fb::CreateLoaderSettings(b, m.loader->workers, m.loader->persistentWorkers,
                                      m.loader->deviceData);
  }
  return {
      fb::Body::RunDescription,
      fb::CreateRunDescription(
          b, workload, preset, dtype, dataset, m.trainRows, m.heldOutRows, labelVector,
          m.vocabularySize, m.width, m.layers, m.heads, m.parameters, knobs, m.maxBatchSize,
          m.maxSequenceLength, m.plannedSteps, scenario, static_cast<std::uint8_t>(m.probeLevel),
          m.ownScript, model, optimizer, static_cast<std::uint8_t>(m.stepsAre), loader, m.firstStep,
          m.openBatchSize, m.openSequenceLength, m.openInOptimizer, signVector, m.epochSamples)};
}

Encoded<fb::ScriptKnob> encodeBody(Builder& b, const ScriptKnob& m) {
  std::vector<Text> choices;
  for (const std::string& choice : m.choices) choices.push_back(text(b, choice));
  const auto choiceVector = b.CreateVector(choices);
  const auto name = text(b, m.name);
  const auto declaredAt = text(b, m.declaredAt);
  const auto warning = text(b, m.warning);
  return {fb::Body::ScriptKnob,
          fb::CreateScriptKnob(b, name, static_cast<std::uint8_t>(m.kind), m.value, m.minimum,
                               m.maximum, choiceVector, declaredAt, warning)};
}

Encoded<fb::Definitions> encodeBody(Builder& b, const Definitions& m) {
  std::vector<Offset<fb::NameDefinition>> names;
  for (const auto& d : m.names) {
    names.push_back(fb::CreateNameDefinition(b, d.id, text(b, d.text), d.callSite));
  }
  std::vector<Offset<fb::ModuleDefinition>> modules;
  for (const auto& d : m.modules) {
    modules.push_back(fb::CreateModuleDefinition(b, d.id, d.parent, text(b, d.name)));
  }
  std::vector<Offset<fb::CallSiteDefinition>> sites;
  for (const auto& d : m.callSites) {
    const Text function = text(b, d.function);
    const Text file = text(b, d.file);
    const Text line = text(b, d.text);
    sites.push_back(fb::CreateCallSiteDefinition(b, d.id, d.parent, function, file, d.line, line));
  }
  std::vector<Offset<fb::ThreadDefinition>> threads;
  for (const auto& d : m.threads) {
    threads.push_back(fb::CreateThreadDefinition(b, d.id, text(b, d.name)));
  }
  const auto nameVector = b.CreateVector(names);
  const auto moduleVector = b.CreateVector(modules);
  const auto siteVector = b.CreateVector(sites);
  const auto threadVector = b.CreateVector(threads);
  return {fb::Body::Definitions,
          fb::CreateDefinitions(b, nameVector, moduleVector, siteVector, threadVector)};
}

template <typename Event>
using StructVector = Offset<flatbuffers::Vector<const Event*>>;

Encoded<fb::EventBatch> encodeBody(Builder& b, const EventBatch& m) {
  PerEventKind<StructVector> vectors;
  forEachEventType([&]<typename Event>(std::type_identity<Event>) {
    vectors.of<Event>() = structs(b, m.of<Event>());
  });
  fb::EventBatchBuilder table(b);
  table.add_complete_up_to_ns(m.completeUpToNs);
#define HIGHWATER_ADD(Event, member, field, loss, name) table.add_##field(vectors.member);
  HIGHWATER_EVENT_KINDS(HIGHWATER_ADD)
#undef HIGHWATER_ADD
  return {fb::Body::EventBatch, table.Finish()};
}

Encoded<fb::CommandResult> encodeBody(Builder& b, const CommandResult& m) {
  return {fb::Body::CommandResult,
          fb::CreateCommandResult(b, m.commandId, m.accepted, text(b, m.message), m.effectiveStep)};
}

Encoded<fb::Failure> encodeBody(Builder& b, const Failure& m) {
  return {fb::Body::Failure, fb::CreateFailure(b, static_cast<std::uint8_t>(m.kind),
                                               text(b, m.message), m.inEvaluation)};
}

Encoded<fb::Goodbye> encodeBody(Builder& b, const Goodbye& m) {
  return {fb::Body::Goodbye, fb::CreateGoodbye(b, m.stepsDone, m.stoppedOnRequest)};
}

Encoded<fb::Welcome> encodeBody(Builder& b, const Welcome& m) {
  return {fb::Body::Welcome, fb::CreateWelcome(b, m.protocolVersion)};
}

struct EncodedAction {
  fb::Action type;
  Offset<void> offset;
};

EncodedAction encodeAction(Builder& b, const StartTraining&) {
  return {fb::Action::StartTraining, fb::CreateStartTraining(b).Union()};
}
EncodedAction encodeAction(Builder& b, const PauseTraining&) {
  return {fb::Action::PauseTraining, fb::CreatePauseTraining(b).Union()};
}
EncodedAction encodeAction(Builder& b, const ResumeTraining&) {
  return {fb::Action::ResumeTraining, fb::CreateResumeTraining(b).Union()};
}
EncodedAction encodeAction(Builder& b, const EmptyCache&) {
  return {fb::Action::EmptyCache, fb::CreateEmptyCache(b).Union()};
}
EncodedAction encodeAction(Builder& b, const StopTraining&) {
  return {fb::Action::StopTraining, fb::CreateStopTraining(b).Union()};
}
EncodedAction encodeAction(Builder& b, const SetKnobs& m) {
  fb::SetKnobsBuilder knobs(b);
  if (m.batchSize) knobs.add_batch_size(*m.batchSize);
  if (m.sequenceLength) knobs.add_sequence_length(*m.sequenceLength);
  if (m.lossEvery) knobs.add_loss_every(*m.lossEvery);
  if (m.learningRate) knobs.add_learning_rate(*m.learningRate);
  if (m.accumulation) knobs.add_accumulation(*m.accumulation);
  if (m.precision) knobs.add_precision(static_cast<std::uint8_t>(*m.precision));
  if (m.memoryFraction) knobs.add_memory_fraction(*m.memoryFraction);
  if (m.keepEffectiveBatch) knobs.add_keep_effective_batch(*m.keepEffectiveBatch);
  if (m.outOfMemory) knobs.add_out_of_memory(static_cast<std::uint8_t>(*m.outOfMemory));
  knobs.add_at_step(m.atStep);
  return {fb::Action::SetKnobs, knobs.Finish().Union()};
}

EncodedAction encodeAction(Builder& b, const SetScriptKnob& m) {
  return {fb::Action::SetScriptKnob, fb::CreateSetScriptKnob(b, text(b, m.name), m.value).Union()};
}

EncodedAction encodeAction(Builder& b, const TryBlock& m) {
  return {fb::Action::TryBlock,
          fb::CreateTryBlock(b, b.CreateVector(m.callSites), static_cast<std::uint8_t>(m.part),
                             text(b, m.knob), m.value)
              .Union()};
}

EncodedAction encodeAction(Builder& b, const SignalProgram& m) {
  return {fb::Action::SignalProgram, fb::CreateSignalProgram(b, m.signal).Union()};
}

EncodedAction encodeAction(Builder& b, const SetProbeLevel& m) {
  return {fb::Action::SetProbeLevel,
          fb::CreateSetProbeLevel(b, static_cast<std::uint8_t>(m.level), m.steps).Union()};
}

Encoded<fb::Command> encodeBody(Builder& b, const Command& m) {
  const EncodedAction action =
      std::visit([&b](const auto& a) { return encodeAction(b, a); }, m.action);
  return {fb::Body::Command, fb::CreateCommand(b, m.id, action.type, action.offset)};
}

Encoded<fb::RunEnd> encodeBody(Builder& b, const RunEnd& m) {
  const auto message = text(b, m.message);
  const auto openOp = text(b, m.openOp);
  const auto lastLines = text(b, m.lastLines);
  return {fb::Body::RunEnd, fb::CreateRunEnd(b, static_cast<std::uint8_t>(m.reason), m.exitCode,
                                             m.signal, message, openOp, lastLines)};
}

Encoded<fb::Note> encodeBody(Builder& b, const Note& m) {
  return {fb::Body::Note, fb::CreateNote(b, m.timeNs, m.step, text(b, m.text), m.unixTimeNs)};
}

Encoded<fb::FallbackAcceptance> encodeBody(Builder& b, const FallbackAcceptance& m) {
  const auto op = text(b, m.op);
  const auto reason = text(b, m.reason);
  return {fb::Body::FallbackAcceptance,
          fb::CreateFallbackAcceptance(b, op, m.accepted, reason, m.unixTimeNs)};
}

}  // namespace

FrameBytes encode(const Message& message) {
  Builder b(1024);
  std::visit(
      [&b](const auto& m) {
        const auto body = encodeBody(b, m);
        b.FinishSizePrefixed(fb::CreateFrame(b, body.type, body.offset.Union()),
                             fb::FrameIdentifier());
      },
      message);
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

}  // namespace highwater::wire
