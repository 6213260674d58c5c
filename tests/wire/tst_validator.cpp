#include "messages.h"
#include "support/test_program.h"
#include "wire/limits.h"
#include "wire/validator.h"

using namespace highwater;
using namespace highwater::wire;
using test::GoodBatch;

class TestValidator : public QObject {
  Q_OBJECT

  /// A validator that has accepted the handshake and the definitions of the fixture.
  static Validator greeted() {
    Validator validator(StreamSource::kWorker);
    for (const Message& message : {Message(test::hello()), Message(test::definitions())}) {
      const Result<void> checked = validator.check(message);
      // Not Q_ASSERT: release builds must not run the tests on a broken fixture.
      if (!checked) qFatal("the fixture is refused: %s", checked.error().message.c_str());
    }
    return validator;
  }

  static void refuses(Validator validator, const Message& message, Violation expected) {
    const Result<void> checked = validator.check(message);
    QVERIFY(!checked);
    QCOMPARE(violationName(validator.violation()), violationName(expected));
    QVERIFY(checked.error().message.starts_with(violationName(expected)));
  }

  static void refusesBatch(const std::function<void(GoodBatch&)>& spoil, Violation expected) {
    GoodBatch batch;
    spoil(batch);
    refuses(greeted(), batch.view(), expected);
  }

  static EventBatch batchOf(std::span<const events::MemorySample> samples) {
    EventBatch batch;
    batch.completeUpToNs = 1'000'000'000;
    batch.memorySamples = samples;
    return batch;
  }
  static events::MachineSample machineSampleAt(std::int64_t ns, std::int64_t swappedBytes) {
    return {ns,
            -1,
            swappedBytes,
            swappedBytes,
            -1,
            events::ThermalState::Unknown,
            events::PowerMode::Unknown};
  }
  static events::MemorySample sampleAt(std::int64_t ns) {
    return {ns, 100, 200, 300, events::SampleOrigin::Timer};
  }

  /// Sends `make(id)` until the validator refuses one, and returns the id; `most` if it does not.
  template <typename F>
  static std::uint32_t firstRefused(Validator& validator, std::uint32_t most, F&& make) {
    for (std::uint32_t id = kOtherId + 1; id < most; ++id) {
      if (!validator.check(make(id))) return id;
    }
    return most;
  }

 private slots:
  void acceptsAGoodStream() {
    Validator validator = greeted();
    QVERIFY(validator.check(test::description()).ok());
    GoodBatch batch;
    const Result<void> checked = validator.check(batch.view());
    QVERIFY2(checked.ok(), checked ? "" : checked.error().message.c_str());
    batch.step = {1600, 10, 0, 0, -1, 2, 16, 64, 0, std::numeric_limits<float>::quiet_NaN(), 1, 0};
    batch.deviceSpan.mutate_step(2);
    QVERIFY(validator.check(batch.view()).ok());  // NaN: a loss may diverge
    QVERIFY(validator.check(Goodbye{2, false}).ok());
  }

  void checksWhatAScriptSays() {
    Validator validator = greeted();
    QVERIFY(validator.check(test::scriptDescription()).ok());
    QVERIFY(validator.check(test::scriptKnob()).ok());
    QVERIFY(validator.check(test::scriptKnob()).ok());  // again, with a new value
    const auto refusesSigns = [](std::vector<CodeSign> signs, Violation expected) {
      RunDescription run = test::scriptDescription();
      run.signs = std::move(signs);
      refuses(greeted(), run, expected);
    };
    refusesSigns(std::vector<CodeSign>(kMaxCodeSigns + 1), Violation::kNumberOutOfRange);
    refusesSigns({{"what", std::string(kMaxNameBytes + 1, 'x')}}, Violation::kTextTooLong);
    refusesSigns({{"what", "", "", 1.5}}, Violation::kNumberOutOfRange);
    refusesSigns({{"what", "", "", std::numeric_limits<double>::quiet_NaN()}},
                 Violation::kNumberOutOfRange);
    const auto refusesKnob = [](const std::function<void(ScriptKnob&)>& spoil, Violation expected) {
      ScriptKnob knob = test::scriptKnob();
      spoil(knob);
      refuses(greeted(), knob, expected);
    };
    refusesKnob([](ScriptKnob& k) { k.name.clear(); }, Violation::kTextTooLong);
    refusesKnob([](ScriptKnob& k) { k.name.assign(kMaxNameBytes + 1, 'x'); },
                Violation::kTextTooLong);
    refusesKnob([](ScriptKnob& k) { k.kind = static_cast<ScriptKnob::Kind>(4); },
                Violation::kUnknownEnum);
    refusesKnob([](ScriptKnob& k) { k.value = 1000; }, Violation::kNumberOutOfRange);
    refusesKnob([](ScriptKnob& k) { k.minimum = std::numeric_limits<double>::quiet_NaN(); },
                Violation::kNumberOutOfRange);
    refusesKnob([](ScriptKnob& k) { k.kind = ScriptKnob::Kind::kChoice; },
                Violation::kNumberOutOfRange);
    for (std::size_t i = 1; i < kMaxScriptKnobs; ++i) {
      ScriptKnob knob = test::scriptKnob();
      knob.name = std::to_string(i);
      QVERIFY(validator.check(knob).ok());
    }
    ScriptKnob last = test::scriptKnob();
    last.name = "one too many";
    refuses(validator, last, Violation::kNumberOutOfRange);
  }

  void checksTheHandshake() {
    refuses(Validator(StreamSource::kWorker), test::description(), Violation::kHelloMissing);
    refuses(greeted(), test::hello(), Violation::kHelloRepeated);

    Hello newer = test::hello();
    newer.protocolVersion = 99;
    Validator validator(StreamSource::kWorker);
    const Result<void> checked = validator.check(newer);
    QCOMPARE(checked.error().code, ErrorCode::kVersionMismatch);
    QVERIFY(checked.error().message.find("99") != std::string::npos);

    Hello stranger = test::hello();
    stranger.token = "guess";
    refuses(Validator(StreamSource::kWorker, "secret"), stranger, Violation::kToken);
    refuses(Validator(StreamSource::kWorker), stranger, Violation::kToken);

    Hello xpu = test::hello();
    xpu.device.selected = "xpu";
    refuses(Validator(StreamSource::kWorker), xpu, Violation::kUnknownEnum);
    Hello start = test::hello();
    start.workStart = static_cast<WorkStart>(3);
    refuses(Validator(StreamSource::kWorker), start, Violation::kUnknownEnum);
    Hello ratio = test::hello();
    ratio.limits.lowWatermarkRatio = std::numeric_limits<double>::quiet_NaN();
    refuses(Validator(StreamSource::kWorker), ratio, Violation::kNumberOutOfRange);
  }

  void checksDirections() {
    refuses(greeted(), Welcome{1}, Violation::kDirection);
    refuses(greeted(), Command{1, StartTraining{}}, Violation::kDirection);
    refuses(greeted(), RunEnd{}, Violation::kDirection);
  }

  void aRecordingHoldsItsEnd() {
    Validator validator(StreamSource::kRecording);
    QVERIFY(validator.check(test::hello()).ok());
    QVERIFY(validator.check(RunEnd{}).ok());
    refuses(validator, Goodbye{}, Violation::kAfterEnd);
    RunEnd odd;
    odd.reason = static_cast<RunEnd::Reason>(77);
    refuses(Validator(StreamSource::kRecording), odd, Violation::kUnknownEnum);
  }

  void aRecordingHoldsNotes() {
    const Note note{1'000, 3, "here", 5};
    refuses(greeted(), note, Violation::kDirection);
    Validator recording(StreamSource::kRecording);
    QVERIFY(recording.check(test::hello()).ok());
    QVERIFY(recording.check(note).ok());
    QVERIFY(recording.check(RunEnd{}).ok());
    QVERIFY(recording.check(note).ok());  // also after the end
    QVERIFY(recording.check(Note{kMaxRunNs, 0, "", 0}).ok());
    refuses(recording, Note{-1, 0, "", 0}, Violation::kTimeOutOfRange);
    refuses(recording, Note{kMaxRunNs + 1, 0, "", 0}, Violation::kTimeOutOfRange);
    refuses(recording, Note{0, 0, std::string(kMaxTextBytes + 1, 'x'), 0}, Violation::kTextTooLong);
    for (std::size_t i = 3; i < kMaxNotes; ++i) QVERIFY(recording.check(note).ok());
    refuses(recording, note, Violation::kNumberOutOfRange);
  }

  void checksDefinitions() {
    Definitions again;
    again.names = {{2, "aten::mm"}};
    refuses(greeted(), again, Violation::kRedefinedId);
    Definitions reserved;
    reserved.names = {{kOtherId, "other"}};
    refuses(greeted(), reserved, Violation::kIdOutOfRange);
    Definitions beyond;
    beyond.names = {{kMaxNames, "aten::mm"}};
    refuses(greeted(), beyond, Violation::kIdOutOfRange);
    Definitions orphan;
    orphan.modules = {{9, 8, "attn"}};
    refuses(greeted(), orphan, Violation::kUndefinedId);
    Definitions longName;
    longName.modules = {{9, kNoId, std::string(kMaxNameBytes + 1, 'x')}};
    refuses(greeted(), longName, Violation::kTextTooLong);
  }

  void checksTimes() {
    refusesBatch([](GoodBatch& b) { b.completeUpToNs = -1; }, Violation::kTimeOutOfRange);
    refusesBatch([](GoodBatch& b) { b.memory.mutate_time_ns(-5); }, Violation::kTimeOutOfRange);
    refusesBatch([](GoodBatch& b) { b.system.mutate_time_ns(kMaxRunNs); },
                 Violation::kTimeOutOfRange);
    refusesBatch([](GoodBatch& b) { b.phase.mutate_duration_ns(-1); }, Violation::kTimeOutOfRange);
    refusesBatch(
        [](GoodBatch& b) { b.sync.mutate_duration_ns(std::numeric_limits<std::int64_t>::max()); },
        Violation::kTimeOutOfRange);

    Validator validator = greeted();
    GoodBatch batch;
    QVERIFY(validator.check(batch.view()).ok());
    batch.step.mutate_step(2);
    batch.completeUpToNs = 1999;
    refuses(validator, batch.view(), Violation::kTimeWentBack);
  }

  /// Inserting a late sample moves the newer ones: many of them took minutes.
  void refusesSamplesInDescendingTime() {
    std::vector<events::MemorySample> samples;
    for (std::int64_t i = 0; i < 100'000; ++i) samples.push_back(sampleAt(100'000 - i));
    refuses(greeted(), batchOf(samples), Violation::kSampleTooLate);

    std::vector<events::SystemSample> system;
    for (std::int64_t i = 0; i < 1'000; ++i) {
      system.emplace_back(1'000 - i, -1, -1, -1, -1, events::Pressure::Unknown);
    }
    EventBatch batch;
    batch.systemSamples = system;
    refuses(greeted(), batch, Violation::kSampleTooLate);

    std::vector<events::MachineSample> machine;
    for (std::int64_t i = 0; i < 1'000; ++i) machine.push_back(machineSampleAt(1'000 - i, 0));
    EventBatch ofMachine;
    ofMachine.machineSamples = machine;
    refuses(greeted(), ofMachine, Violation::kSampleTooLate);

    std::vector<events::HostSample> host;
    for (std::int64_t i = 0; i < 1'000; ++i) {
      host.emplace_back(1'000 - i, 1, kNoId, 0, events::Phase::None);
    }
    EventBatch ofHost;
    ofHost.hostSamples = host;
    refuses(greeted(), ofHost, Violation::kSampleTooLate);
  }

  void refusesSwapTrafficThatNoMachineHas() {
    EventBatch batch;
    const events::MachineSample possible = machineSampleAt(1, kMaxSwapTrafficBytes);
    batch.machineSamples = {&possible, 1};
    QVERIFY(greeted().check(batch).ok());
    const events::MachineSample impossible = machineSampleAt(1, kMaxSwapTrafficBytes + 1);
    batch.machineSamples = {&impossible, 1};
    refuses(greeted(), batch, Violation::kNumberOutOfRange);
  }

  void refusesWorkThatNoGpuDoes() {
    EventBatch batch;
    const events::OpWork most(1, 0, kMaxFlops, 1, 1, kNoId, kNoId, kNoId, kNoId,
                              events::Phase::None, 0);
    batch.opWork = {&most, 1};
    QVERIFY(greeted().check(batch).ok());
    const events::OpWork more(1, 0, kMaxFlops + 1, 1, 1, kNoId, kNoId, kNoId, kNoId,
                              events::Phase::None, 0);
    batch.opWork = {&more, 1};
    refuses(greeted(), batch, Violation::kNumberOutOfRange);
    const events::OpWork none(1, 0, 0, 1, 0, kNoId, kNoId, kNoId, kNoId, events::Phase::None, 0);
    batch.opWork = {&none, 1};
    refuses(greeted(), batch, Violation::kNumberOutOfRange);
    const events::OpWork elsewhere(1, 0, 0, 1, 1, kNoId, kNoId, 77, kNoId, events::Phase::None, 0);
    batch.opWork = {&elsewhere, 1};
    refuses(greeted(), batch, Violation::kUndefinedId);
  }

  void acceptsASampleBehindAFewNewerOnes() {
    std::vector<events::MemorySample> samples;
    for (std::size_t i = 0; i < kMaxNewerSamples; ++i) {
      samples.push_back(sampleAt(1'000 + static_cast<std::int64_t>(i)));
    }
    Validator validator = greeted();
    QVERIFY(validator.check(batchOf(samples)).ok());
    // Equal to the oldest of the newer ones, then before it.
    const events::MemorySample equal = sampleAt(1'000), late = sampleAt(999);
    QVERIFY(validator.check(batchOf({&equal, 1})).ok());
    refuses(validator, batchOf({&late, 1}), Violation::kSampleTooLate);
  }

  void limitsTheSizeOfAllDefinitions() {
    Validator names = greeted();
    const std::string longText(kMaxTextBytes, 'x');
    const auto name = [&](std::uint32_t id) {
      Definitions definitions;
      definitions.names = {{id + 10, longText}};
      return definitions;
    };
    constexpr auto kFitting = static_cast<std::uint32_t>(kMaxDefinitionBytes / kMaxTextBytes);
    // The definitions of the fixture take a part of one.
    QCOMPARE(firstRefused(names, kMaxNames, name), kFitting + kOtherId);
    QCOMPARE(violationName(names.violation()), violationName(Violation::kDefinitionsTooLarge));
  }

  /// A module or call site stands for its whole chain of parents.
  void countsDefinitionsWithTheirParents() {
    const auto fits = [](std::uint32_t count, std::uint64_t bytes) {
      return std::uint64_t{count} * count / 2 * bytes <= kMaxDefinitionBytes;
    };
    constexpr std::uint32_t kCount = 2'000;  // of 1 KiB each: 2 MB, or 2 GB with their parents

    Validator modules = greeted();
    const std::string longName(kMaxNameBytes, 'm');
    const std::uint32_t module = firstRefused(modules, kCount, [&](std::uint32_t id) {
      Definitions definitions;
      definitions.modules = {{id + 10, id == kOtherId + 1 ? kNoId : id + 9, longName}};
      return definitions;
    });
    QVERIFY(module < kCount && fits(module - 10, kMaxNameBytes));
    QCOMPARE(violationName(modules.violation()), violationName(Violation::kDefinitionsTooLarge));

    Validator sites = greeted();
    const std::uint32_t site = firstRefused(sites, kCount, [&](std::uint32_t id) {
      Definitions definitions;
      definitions.callSites = {{id + 10, id == kOtherId + 1 ? kNoId : id + 9, longName, "", 1}};
      return definitions;
    });
    QVERIFY(site < kCount && fits(site - 10, kMaxNameBytes));
    QCOMPARE(violationName(sites.violation()), violationName(Violation::kDefinitionsTooLarge));
  }

  void refusesALongTextOfALine() {
    Definitions definitions;
    definitions.callSites = {{9, kNoId, "f", "a.py", 1, std::string(kMaxLineTextBytes, 'x')}};
    QVERIFY(greeted().check(definitions).ok());
    definitions.callSites[0].text += 'x';
    refuses(greeted(), definitions, Violation::kTextTooLong);
  }

  void checksSteps() {
    Validator validator = greeted();
    GoodBatch batch;
    QVERIFY(validator.check(batch.view()).ok());
    refuses(validator, batch.view(), Violation::kStepWentBack);
    batch.step.mutate_step(2);
    batch.step.mutate_begin_ns(900);
    refuses(validator, batch.view(), Violation::kTimeWentBack);
    refusesBatch([](GoodBatch& b) { b.step.mutate_step(0); }, Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.step.mutate_batch_size(kMaxBatchSize + 1); },
                 Violation::kNumberOutOfRange);
  }

  void checksDeviceSpans() {
    Validator validator = greeted();
    GoodBatch batch;
    QVERIFY(validator.check(batch.view()).ok());
    batch.step.mutate_step(2);
    refuses(validator, batch.view(), Violation::kStepWentBack);  // one span a step
    refusesBatch([](GoodBatch& b) { b.deviceSpan.mutate_step(0); }, Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.deviceSpan.mutate_device_ns(-1); },
                 Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.deviceSpan.mutate_time_ns(kMaxRunNs); },
                 Violation::kTimeOutOfRange);
    refusesBatch([](GoodBatch& b) { b.deviceSpan.mutate_device_ns(b.deviceSpan.time_ns() + 1); },
                 Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.deviceSpan.mutate_step(2); }, Violation::kUndefinedId);
  }

  void checksIds() {
    refusesBatch([](GoodBatch& b) { b.sync.mutate_op(77); }, Violation::kUndefinedId);
    refusesBatch([](GoodBatch& b) { b.fallback.mutate_module_id(77); }, Violation::kUndefinedId);
    refusesBatch([](GoodBatch& b) { b.fallback.mutate_call_site(77); }, Violation::kUndefinedId);
    refusesBatch([](GoodBatch& b) { b.phase.mutate_thread(9); }, Violation::kUndefinedId);
    refusesBatch([](GoodBatch& b) { b.host.mutate_call_site(77); }, Violation::kUndefinedId);
    refusesBatch([](GoodBatch& b) { b.host.mutate_thread(9); }, Violation::kUndefinedId);
    refusesBatch([](GoodBatch& b) { b.marker.mutate_text(77); }, Violation::kUndefinedId);
    refusesBatch([](GoodBatch& b) { b.named.mutate_name(77); }, Violation::kUndefinedId);
    refusesBatch([](GoodBatch& b) { b.named.mutate_thread(9); }, Violation::kUndefinedId);
  }

  void checksEnumsAndNumbers() {
    refusesBatch([](GoodBatch& b) { b.phase.mutate_phase(static_cast<events::Phase>(9)); },
                 Violation::kUnknownEnum);
    refusesBatch([](GoodBatch& b) { b.phase.mutate_phase(events::Phase::None); },
                 Violation::kUnknownEnum);
    refusesBatch([](GoodBatch& b) { b.marker.mutate_kind(static_cast<events::MarkerKind>(200)); },
                 Violation::kUnknownEnum);
    refusesBatch([](GoodBatch& b) { b.sync.mutate_kind(static_cast<events::SyncKind>(200)); },
                 Violation::kUnknownEnum);
    refusesBatch([](GoodBatch& b) { b.sync.mutate_phase(static_cast<events::Phase>(200)); },
                 Violation::kUnknownEnum);
    refusesBatch([](GoodBatch& b) { b.memory.mutate_driver_bytes(~0ull); },
                 Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.system.mutate_footprint_bytes(-2); },
                 Violation::kNumberOutOfRange);
    for (const float percent : {-0.5f, 100.5f, NAN}) {
      refusesBatch([=](GoodBatch& b) { b.system.mutate_gpu_percent(percent); },
                   Violation::kNumberOutOfRange);
    }
    refusesBatch([](GoodBatch& b) { b.machine.mutate_compressor_bytes(-2); },
                 Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.machine.mutate_swapped_in_bytes(-2); },
                 Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.machine.mutate_swapped_out_bytes(-2); },
                 Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.machine.mutate_gpu_bytes(std::int64_t{1} << 60); },
                 Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.machine.mutate_time_ns(-1); }, Violation::kTimeOutOfRange);
    refusesBatch(
        [](GoodBatch& b) { b.machine.mutate_thermal(static_cast<events::ThermalState>(5)); },
        Violation::kUnknownEnum);
    refusesBatch([](GoodBatch& b) { b.machine.mutate_power(static_cast<events::PowerMode>(3)); },
                 Violation::kUnknownEnum);
    refusesBatch([](GoodBatch& b) { b.fallback.mutate_wait_ns(21); }, Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.evaluation.mutate_accuracy(1.5f); },
                 Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.evaluation.mutate_accuracy(NAN); },
                 Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.marker.mutate_value_after(INFINITY); },
                 Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.drop.mutate_count(0); }, Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.sync.mutate_deliberate(2); }, Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.named.mutate_continued(2); }, Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.named.mutate_duration_ns(-1); }, Violation::kTimeOutOfRange);
  }
};

HIGHWATER_TEST(TestValidator, QCoreApplication)
#include "tst_validator.moc"
