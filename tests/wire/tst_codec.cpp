#include "messages.h"
#include "support/test_program.h"
#include "wire/codec.h"

using namespace highwater;
using namespace highwater::wire;

class TestCodec : public QObject {
  Q_OBJECT

  /// Encoding a decoded message gives the same bytes.
  static void roundTrips(const Message& message) {
    const FrameBytes frame = encode(message);
    const Result<Message> decoded = decode(frame);
    QVERIFY2(decoded.ok(), decoded ? "" : decoded.error().message.c_str());
    QCOMPARE(decoded->index(), message.index());
    QCOMPARE(encode(*decoded), frame);
  }

 private slots:
  void everyMessageRoundTrips() {
    const test::GoodBatch batch;
    roundTrips(test::hello());
    roundTrips(test::description());
    roundTrips(test::definitions());
    roundTrips(batch.view());
    roundTrips(EventBatch{});
    roundTrips(CommandResult{3, false, "batch size 0 is out of range", 0});
    roundTrips(Failure{Failure::Kind::kDeviceContract, "batch device cpu"});
    roundTrips(Failure{Failure::Kind::kFailed, "out of memory", true});
    roundTrips(Goodbye{60, true});
    roundTrips(Welcome{kProtocolVersion});
    roundTrips(Command{1, StartTraining{}});
    roundTrips(Command{2, PauseTraining{}});
    roundTrips(Command{3, ResumeTraining{}});
    roundTrips(Command{4, EmptyCache{}});
    roundTrips(Command{5, StopTraining{}});
    roundTrips(Command{6, SetKnobs{32, std::nullopt, 5, 30}});
    roundTrips(Command{6, SetKnobs{.batchSize = {},
                                   .sequenceLength = {},
                                   .lossEvery = {},
                                   .atStep = 2,
                                   .learningRate = 3e-4,
                                   .accumulation = 4,
                                   .precision = Precision::kBFloat16,
                                   .memoryFraction = 0.9,
                                   .keepEffectiveBatch = false,
                                   .outOfMemory = OutOfMemoryPolicy::kRetry}});
    roundTrips(Command{7, SetProbeLevel{events::ProbeLevel::Ops, 20}});
    roundTrips(Command{8, SetScriptKnob{"lr", 3e-4}});
    roundTrips(Command{9, SignalProgram{15}});
    roundTrips(Command{9, TryBlock{TryBlock::Part::kChanged, {3, 17}, {}, 0}});
    roundTrips(Command{10, TryBlock{}});
    roundTrips(Command{11, TryBlock{TryBlock::Part::kAsItWas, {}, "accumulation", 4}});
    roundTrips(test::scriptDescription());
    roundTrips(test::scriptKnob());
    roundTrips(FallbackAcceptance{"aten::kthvalue", true, "once an epoch", 1'700'000'000});
    roundTrips(Note{24'127'000'000, 209, "here the loss jumps \u2191", 1'700'000'000});
    roundTrips(Note{});
    roundTrips(RunEnd{RunEnd::Reason::kCrashed, 0, 9, "killed", "aten::mm", "last\nline"});
  }

  /// Guards the tests above: a kind that is missing in the fixture would not be tested.
  void theFixtureHasEveryKindOfEvent() {
    const test::GoodBatch good;
    const FrameBytes frame = encode(good.view());
    const Result<Message> decoded = decode(frame);
    QVERIFY(decoded.ok());
    const auto& batch = std::get<EventBatch>(*decoded);
    forEachEventType([&batch]<typename Event>(std::type_identity<Event>) {
      QVERIFY2(batch.of<Event>().size() == 1, events::EnumNameEventKind(EventTraits<Event>::kKind));
    });
  }

  void keepsEveryFieldOfAScript() {
    const FrameBytes described = encode(test::scriptDescription());
    const auto run = std::get<RunDescription>(*decode(described));
    QVERIFY(run.ownScript);
    QCOMPARE(run.model, std::string("Classifier"));
    QCOMPARE(run.optimizer, std::string("AdamW"));
    QVERIFY(run.signs == test::scriptDescription().signs);
    QCOMPARE(run.epochSamples, 4096U);
    ScriptKnob sent = test::scriptKnob();
    sent.kind = ScriptKnob::Kind::kChoice;
    sent.choices = {"mean", "sum"};
    sent.value = 1;
    const FrameBytes frame = encode(sent);
    const auto knob = std::get<ScriptKnob>(*decode(frame));
    QCOMPARE(knob.name, sent.name);
    QCOMPARE(knob.kind, sent.kind);
    QCOMPARE(knob.value, 1.0);
    QCOMPARE(knob.minimum, 1.0);
    QCOMPARE(knob.maximum, 512.0);
    QCOMPARE(knob.choices, sent.choices);
    QCOMPARE(knob.declaredAt, sent.declaredAt);
    QCOMPARE(knob.warning, sent.warning);
    const FrameBytes asked = encode(Command{8, SetScriptKnob{"lr", 3e-4}});
    const auto command = std::get<Command>(*decode(asked));
    const auto& action = std::get<SetScriptKnob>(command.action);
    QCOMPARE(action.name, std::string("lr"));
    QCOMPARE(action.value, 3e-4);
  }

  void keepsEveryFieldOfTheHandshake() {
    const Hello sent = test::hello();
    const FrameBytes frame = encode(sent);
    const Result<Message> decoded = decode(frame);
    QVERIFY(decoded.ok());
    const Hello& got = std::get<Hello>(*decoded);
    QCOMPARE(got.protocolVersion, sent.protocolVersion);
    QCOMPARE(got.torchVersion, sent.torchVersion);
    QCOMPARE(got.blas, sent.blas);
    QCOMPARE(got.clock.unixEpochNs, sent.clock.unixEpochNs);
    QCOMPARE(got.device.reason, sent.device.reason);
    QVERIFY(got.device.simulated);
    QVERIFY(!got.device.mpsBuilt);
    QCOMPARE(got.limits.highWatermarkRatio, 1.7);
    QCOMPARE(got.limits.gpuWiredLimitBytes.value(), 12ull << 30);
    QVERIFY(got.workStart == WorkStart::kDeferred);
    QCOMPARE(got.environment.size(), std::size_t{2});
    QCOMPARE(*got.environment[0].value, std::string("1"));
    QVERIFY(!got.environment[1].value);  // unset is not the same as empty
  }

  void anAbsentKnobStaysAbsent() {
    const FrameBytes frame = encode(Command{6, SetKnobs{std::nullopt, 128, std::nullopt, 0}});
    const Result<Message> decoded = decode(frame);
    const auto& knobs = std::get<SetKnobs>(std::get<Command>(*decoded).action);
    QVERIFY(!knobs.batchSize);
    QCOMPARE(knobs.sequenceLength.value(), 128u);
    QVERIFY(!knobs.lossEvery);
  }

  void randomBatchesKeepTheirEventsToTheBit() {
    std::mt19937_64 random(7);
    for (int round = 0; round < 50; ++round) {
      std::vector<events::MemorySample> samples(random() % 2000);
      for (auto& sample : samples) {
        sample = {static_cast<std::int64_t>(random()), random(), random(), random(),
                  events::SampleOrigin::Timer};
      }
      EventBatch batch;
      batch.completeUpToNs = static_cast<std::int64_t>(random());
      batch.memorySamples = samples;
      const FrameBytes frame = encode(batch);
      const Result<Message> decoded = decode(frame);
      QVERIFY(decoded.ok());
      const auto& got = std::get<EventBatch>(*decoded);
      QCOMPARE(got.completeUpToNs, batch.completeUpToNs);
      QCOMPARE(got.memorySamples.size(), samples.size());
      QVERIFY(samples.empty() || std::memcmp(got.memorySamples.data(), samples.data(),
                                             samples.size() * sizeof(samples[0])) == 0);
    }
  }

  void cutsLongTextsBetweenCharacters() {
    std::string text(kMaxTextBytes - 1, 'a');
    text += "é and more";
    const FrameBytes frame = encode(Failure{Failure::Kind::kFailed, text});
    const Result<Message> decoded = decode(frame);
    QCOMPARE(std::get<Failure>(*decoded).message, std::string(kMaxTextBytes - 1, 'a'));
  }

  /// decode() survives any bytes. Under the sanitizers this also checks that it stays in bounds.
  void damagedFramesNeverCrash() {
    const test::GoodBatch batch;
    const std::vector<FrameBytes> originals = {encode(test::hello()), encode(test::definitions()),
                                               encode(batch.view()),
                                               encode(Command{6, SetKnobs{32, 64, 5, 30}})};
    std::mt19937_64 random(11);
    int refused = 0;
    for (int round = 0; round < 20'000; ++round) {
      FrameBytes frame = originals[round % originals.size()];
      for (std::uint64_t flips = random() % 8 + 1; flips > 0; --flips) {
        frame[random() % frame.size()] = static_cast<std::uint8_t>(random());
      }
      if (random() % 4 == 0) frame.resize(random() % frame.size());
      if (!decode(frame)) ++refused;
    }
    QVERIFY(refused > 5'000);
  }

  /// Found by tests/fuzz: an offset that is wrong by four passes FlatBuffers' verifier.
  void refusesUnalignedEvents() {
    const test::GoodBatch batch;
    const FrameBytes good = encode(batch.view());
    int refused = 0;
    for (std::size_t at = 0; at + 4 <= good.size(); at += 4) {
      for (const int by : {-4, 4}) {
        FrameBytes frame = good;
        std::uint32_t offset = 0;
        std::memcpy(&offset, &frame[at], 4);
        offset += static_cast<std::uint32_t>(by);
        std::memcpy(&frame[at], &offset, 4);
        const auto decoded = decode(frame);
        if (!decoded) ++refused;
        const auto* read = decoded ? std::get_if<EventBatch>(&*decoded) : nullptr;
        if (!read) continue;
        read->forEachKind([](const auto& events) {
          QVERIFY(reinterpret_cast<std::uintptr_t>(events.data()) % 8 == 0);
        });
      }
    }
    QVERIFY(refused > 0);
  }

  void refusesShortAndUnalignedFrames() {
    QVERIFY(!decode({}));
    FrameBytes frame = encode(test::hello());
    frame.insert(frame.begin(), 0);
    QVERIFY(!decode(std::span(frame).subspan(1)));
  }
};

HIGHWATER_TEST(TestCodec, QCoreApplication)
#include "tst_codec.moc"
