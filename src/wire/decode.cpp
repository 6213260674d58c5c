#include <bit>
#include <cstdint>

#include "core/frame_header.h"
#include "wire/codec.h"
#include "wire/frames_generated.h"

namespace highwater::wire {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the spans of a batch point into the frame, whose numbers are little endian");

Error malformed(std::string what) {
  return {ErrorCode::kMalformed, "malformed frame: " + std::move(what)};
}

std::string text(const flatbuffers::String* value) {
  return value ? value->str() : std::string();
}

std::vector<std::string> texts(
    const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* values) {
  std::vector<std::string> all;
  if (values == nullptr) return all;
  for (const auto* value : *values) all.push_back(value->str());
  return all;
}

/// FlatBuffers' verifier checks where the length of a vector of structs is, and not the structs.
template <typename T>
bool isAligned(const flatbuffers::Vector<const T*>* events) {
  return events == nullptr || reinterpret_cast<std::uintptr_t>(events->Data()) % alignof(T) == 0;
}

template <typename T>
std::span<const T> structs(const flatbuffers::Vector<const T*>* events) {
  if (events == nullptr || events->size() == 0) return {};
  // FlatBuffers stores a vector of structs as the structs themselves, one behind the other.
  return {reinterpret_cast<const T*>(events->Data()), events->size()};
}

template <typename Table, typename F>
void each(const flatbuffers::Vector<flatbuffers::Offset<Table>>* tables, F&& f) {
  if (tables == nullptr) return;
  for (const Table* table : *tables) f(*table);
}

Result<Message> decodeBody(const fb::Hello& t) {
  Hello m;
  m.protocolVersion = t.protocol_version();
  m.token = text(t.token());
  m.workerVersion = text(t.worker_version());
  m.torchVersion = text(t.torch_version());
  m.blas = text(t.blas());
  m.platform = text(t.platform());
  m.processId = t.process_id();
  if (t.clock()) m.clock = {t.clock()->monotonic_epoch_ns(), t.clock()->unix_epoch_ns()};
  if (const fb::DeviceReport* d = t.device()) {
    m.device = {text(d->requested()), text(d->selected()), d->simulated(),
                d->mps_built(),       d->mps_available(),  text(d->reason())};
  }
  if (const fb::MemoryLimits* l = t.limits()) {
    m.limits = {l->recommended_bytes(), l->low_watermark_ratio(), l->high_watermark_ratio(),
                l->system_bytes()};
    if (l->gpu_wired_limit_bytes()) m.limits.gpuWiredLimitBytes = *l->gpu_wired_limit_bytes();
  }
  each(t.environment(), [&m](const fb::EnvironmentEntry& entry) {
    EnvironmentEntry e{text(entry.name()), std::nullopt};
    if (entry.value()) e.value = entry.value()->str();
    m.environment.push_back(std::move(e));
  });
  m.workStart = static_cast<WorkStart>(t.work_start());
  return Message(std::move(m));
}

Result<Message> decodeBody(const fb::RunDescription& t) {
  RunDescription m;
  m.workload = text(t.workload());
  m.preset = text(t.preset());
  m.dtype = text(t.dtype());
  m.dataset = text(t.dataset());
  m.trainRows = t.train_rows();
  m.heldOutRows = t.held_out_rows();
  m.labels = texts(t.labels());
  m.vocabularySize = t.vocabulary_size();
  m.width = t.width();
  m.layers = t.layers();
  m.heads = t.heads();
  m.parameters = t.parameters();
  if (const fb::Knobs* k = t.knobs()) {
    m.knobs = {k->batch_size(),
               k->sequence_length(),
               k->loss_every(),
               k->learning_rate(),
               k->accumulation(),
               static_cast<Precision>(k->precision()),
               k->memory_fraction(),
               k->keep_effective_batch(),
               static_cast<OutOfMemoryPolicy>(k->out_of_memory())};
  }
  m.maxBatchSize = t.max_batch_size();
  m.maxSequenceLength = t.max_sequence_length();
  m.plannedSteps = t.planned_steps();
  m.scenario = text(t.scenario());
  m.probeLevel = static_cast<events::ProbeLevel>(t.probe_level());
  m.ownScript = t.own_script();
  m.model = text(t.model());
  m.optimizer = text(t.optimizer());
  m.stepsAre = static_cast<StepsAre>(t.steps_are());
  m.firstStep = t.first_step();
  m.openBatchSize = t.open_batch_size();
  m.openSequenceLength = t.open_sequence_length();
  m.openInOptimizer = t.open_in_optimizer();
  m.epochSamples = t.epoch_samples();
  if (t.signs()) {
    for (const fb::CodeSign* each : *t.signs()) {
      m.signs.push_back(
          {text(each->what()), text(each->line()), text(each->text()), each->share()});
    }
  }
  if (const fb::LoaderSettings* loader = t.loader()) {
    m.loader = {loader->workers(), loader->persistent_workers(), loader->device_data()};
  }
  return Message(std::move(m));
}

Result<Message> decodeBody(const fb::ScriptKnob& t) {
  return Message(ScriptKnob{text(t.name()), static_cast<ScriptKnob::Kind>(t.kind()), t.value(),
                            t.minimum(), t.maximum(), texts(t.choices()), text(t.declared_at()),
                            text(t.warning())});
}

Result<Message> decodeBody(const fb::Definitions& t) {
  Definitions m;
  each(t.names(), [&m](const auto& d) {
    m.names.push_back({d.id(), text(d.text()), d.call_site()});
  });
  each(t.modules(), [&m](const auto& d) {
    m.modules.push_back({d.id(), d.parent(), text(d.name())});
  });
  each(t.call_sites(), [&m](const auto& d) {
    m.callSites.push_back(
        {d.id(), d.parent(), text(d.function()), text(d.file()), d.line(), text(d.text())});
  });
  each(t.threads(), [&m](const auto& d) { m.threads.push_back({d.id(), text(d.name())}); });
  return Message(std::move(m));
}

Result<Message> decodeBody(const fb::EventBatch& t) {
  EventBatch m;
  m.completeUpToNs = t.complete_up_to_ns();
#define HIGHWATER_READ(Event, member, field, loss, name)                                  \
  if (!isAligned(t.field())) return malformed("the " name " of a batch are not aligned"); \
  m.member = structs(t.field());
  HIGHWATER_EVENT_KINDS(HIGHWATER_READ)
#undef HIGHWATER_READ
  return Message(m);
}

Result<Message> decodeBody(const fb::CommandResult& t) {
  return Message(
      CommandResult{t.command_id(), t.accepted(), text(t.message()), t.effective_step()});
}

Result<Message> decodeBody(const fb::Failure& t) {
  return Message(
      Failure{static_cast<Failure::Kind>(t.kind()), text(t.message()), t.in_evaluation()});
}

Result<Message> decodeBody(const fb::Goodbye& t) {
  return Message(Goodbye{t.steps_done(), t.stopped_on_request()});
}

Result<Message> decodeBody(const fb::Welcome& t) {
  return Message(Welcome{t.protocol_version()});
}

Result<Message> decodeBody(const fb::Command& t) {
  Command m;
  m.id = t.id();
  switch (t.action_type()) {
    case fb::Action::StartTraining:
      m.action = StartTraining{};
      break;
    case fb::Action::PauseTraining:
      m.action = PauseTraining{};
      break;
    case fb::Action::ResumeTraining:
      m.action = ResumeTraining{};
      break;
    case fb::Action::EmptyCache:
      m.action = EmptyCache{};
      break;
    case fb::Action::StopTraining:
      m.action = StopTraining{};
      break;
    case fb::Action::SetKnobs: {
      const fb::SetKnobs* k = t.action_as_SetKnobs();
      if (k == nullptr) return malformed("a command without its action");
      SetKnobs knobs;
      if (k->batch_size()) knobs.batchSize = *k->batch_size();
      if (k->sequence_length()) knobs.sequenceLength = *k->sequence_length();
      if (k->loss_every()) knobs.lossEvery = *k->loss_every();
      if (k->learning_rate()) knobs.learningRate = *k->learning_rate();
      if (k->accumulation()) knobs.accumulation = *k->accumulation();
      if (k->precision()) knobs.precision = static_cast<Precision>(*k->precision());
      if (k->memory_fraction()) knobs.memoryFraction = *k->memory_fraction();
      if (k->keep_effective_batch()) knobs.keepEffectiveBatch = *k->keep_effective_batch();
      if (k->out_of_memory()) {
        knobs.outOfMemory = static_cast<OutOfMemoryPolicy>(*k->out_of_memory());
      }
      knobs.atStep = k->at_step();
      m.action = knobs;
      break;
    }
    case fb::Action::SetProbeLevel: {
      const fb::SetProbeLevel* l = t.action_as_SetProbeLevel();
      if (l == nullptr) return malformed("a command without its action");
      m.action = SetProbeLevel{static_cast<events::ProbeLevel>(l->level()), l->steps()};
      break;
    }
    case fb::Action::SetScriptKnob: {
      const fb::SetScriptKnob* k = t.action_as_SetScriptKnob();
      if (k == nullptr) return malformed("a command without its action");
      m.action = SetScriptKnob{text(k->name()), k->value()};
      break;
    }
    case fb::Action::TryBlock: {
      const fb::TryBlock* k = t.action_as_TryBlock();
      if (k == nullptr) return malformed("a command without its action");
      TryBlock tries{static_cast<TryBlock::Part>(k->part()), {}, text(k->knob()), k->value()};
      if (k->call_sites()) tries.callSites.assign(k->call_sites()->begin(), k->call_sites()->end());
      m.action = std::move(tries);
      break;
    }
    case fb::Action::SignalProgram: {
      const fb::SignalProgram* k = t.action_as_SignalProgram();
      if (k == nullptr) return malformed("a command without its action");
      m.action = SignalProgram{k->signal()};
      break;
    }
    default:
      return malformed("a command of an unknown kind");
  }
  return Message(m);
}

Result<Message> decodeBody(const fb::RunEnd& t) {
  return Message(RunEnd{static_cast<RunEnd::Reason>(t.reason()), t.exit_code(), t.signal(),
                        text(t.message()), text(t.open_op()), text(t.last_lines())});
}

Result<Message> decodeBody(const fb::Note& t) {
  return Message(Note{t.time_ns(), t.step(), text(t.text()), t.unix_time_ns()});
}
Result<Message> decodeBody(const fb::FallbackAcceptance& t) {
  return Message(
      FallbackAcceptance{text(t.op()), t.accepted(), text(t.reason()), t.unix_time_ns()});
}

template <typename Table>
Result<Message> decodeAs(const fb::Frame& frame) {
  const auto* body = static_cast<const Table*>(frame.body());
  if (body == nullptr) return malformed("no body");
  return decodeBody(*body);
}

}  // namespace

Result<Message> decode(std::span<const std::uint8_t> frame) {
  if (!isFrameSize(frame.size())) {
    return malformed(std::to_string(frame.size()) + " bytes");
  }
  if (reinterpret_cast<std::uintptr_t>(frame.data()) % 8 != 0) return malformed("not aligned");
  flatbuffers::Verifier verifier(frame.data(), frame.size());
  if (!fb::VerifySizePrefixedFrameBuffer(verifier)) return malformed("it fails the verifier");
  const fb::Frame& root = *fb::GetSizePrefixedFrame(frame.data());
  switch (root.body_type()) {
    case fb::Body::Hello:
      return decodeAs<fb::Hello>(root);
    case fb::Body::RunDescription:
      return decodeAs<fb::RunDescription>(root);
    case fb::Body::Definitions:
      return decodeAs<fb::Definitions>(root);
    case fb::Body::EventBatch:
      return decodeAs<fb::EventBatch>(root);
    case fb::Body::CommandResult:
      return decodeAs<fb::CommandResult>(root);
    case fb::Body::Failure:
      return decodeAs<fb::Failure>(root);
    case fb::Body::Goodbye:
      return decodeAs<fb::Goodbye>(root);
    case fb::Body::Welcome:
      return decodeAs<fb::Welcome>(root);
    case fb::Body::Command:
      return decodeAs<fb::Command>(root);
    case fb::Body::RunEnd:
      return decodeAs<fb::RunEnd>(root);
    case fb::Body::FallbackAcceptance:
      return decodeAs<fb::FallbackAcceptance>(root);
    case fb::Body::Note:
      return decodeAs<fb::Note>(root);
    case fb::Body::ScriptKnob:
      return decodeAs<fb::ScriptKnob>(root);
    case fb::Body::NONE:
      break;
  }
  return malformed("of an unknown kind " + std::to_string(static_cast<int>(root.body_type())));
}

}  // namespace highwater::wire
