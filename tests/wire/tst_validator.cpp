#include <QTest>
#include <functional>
#include <limits>

#include "messages.h"
#include "wire/validator.h"

using namespace highwater;
using namespace highwater::wire;
using test::GoodBatch;

class TestValidator : public QObject {
  Q_OBJECT

  static Validator greeted() {
    Validator validator(StreamSource::kWorker);
    [[maybe_unused]] bool ok =
        validator.check(test::hello()).ok() && validator.check(test::definitions()).ok();
    Q_ASSERT(ok);
    return validator;
  }

  static void refuses(Validator validator, const Message& message, Violation expected) {
    const Result<void> verdict = validator.check(message);
    QVERIFY(!verdict);
    QCOMPARE(violationName(validator.violation()), violationName(expected));
    QVERIFY(verdict.error().message.starts_with(violationName(expected)));
  }

  static void refusesBatch(const std::function<void(GoodBatch&)>& spoil, Violation expected) {
    GoodBatch batch;
    spoil(batch);
    refuses(greeted(), batch.view(), expected);
  }

 private slots:
  void acceptsAGoodStream() {
    Validator validator = greeted();
    QVERIFY(validator.check(test::description()).ok());
    GoodBatch batch;
    const Result<void> verdict = validator.check(batch.view());
    QVERIFY2(verdict.ok(), verdict ? "" : verdict.error().message.c_str());
    batch.step = {1600, 10, 0, 0, -1, 2, 16, 64, 0, std::numeric_limits<float>::quiet_NaN(), 1, 0};
    batch.deviceSpan.mutate_step(2);
    QVERIFY(validator.check(batch.view()).ok());  // a loss that diverged is news, not nonsense
    QVERIFY(validator.check(Goodbye{2, false}).ok());
  }

  void judgesTheHandshake() {
    refuses(Validator(StreamSource::kWorker), test::description(), Violation::kHelloMissing);
    refuses(greeted(), test::hello(), Violation::kHelloRepeated);

    Hello newer = test::hello();
    newer.protocolVersion = 99;
    Validator validator(StreamSource::kWorker);
    const Result<void> verdict = validator.check(newer);
    QCOMPARE(verdict.error().code, ErrorCode::kVersionMismatch);
    QVERIFY(verdict.error().message.find("99") != std::string::npos);

    Hello stranger = test::hello();
    stranger.token = "guess";
    refuses(Validator(StreamSource::kWorker, "secret"), stranger, Violation::kToken);
    refuses(Validator(StreamSource::kWorker), stranger, Violation::kToken);

    Hello xpu = test::hello();
    xpu.device.selected = "xpu";
    refuses(Validator(StreamSource::kWorker), xpu, Violation::kUnknownEnum);
    Hello ratio = test::hello();
    ratio.limits.lowWatermarkRatio = std::numeric_limits<double>::quiet_NaN();
    refuses(Validator(StreamSource::kWorker), ratio, Violation::kNumberOutOfRange);
  }

  void judgesDirections() {
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

  void judgesDefinitions() {
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

  void judgesTimes() {
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

  void judgesSteps() {
    Validator validator = greeted();
    GoodBatch batch;
    QVERIFY(validator.check(batch.view()).ok());
    refuses(validator, batch.view(), Violation::kStepWentBack);
    batch.step.mutate_step(2);
    batch.step.mutate_begin_ns(900);
    refuses(validator, batch.view(), Violation::kTimeWentBack);
    refusesBatch([](GoodBatch& b) { b.step.mutate_step(0); }, Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.step.mutate_batch_size(0); }, Violation::kNumberOutOfRange);
  }

  void judgesDeviceSpans() {
    Validator validator = greeted();
    GoodBatch batch;
    QVERIFY(validator.check(batch.view()).ok());
    batch.step.mutate_step(2);
    refuses(validator, batch.view(), Violation::kStepWentBack);  // a step has one span
    refusesBatch([](GoodBatch& b) { b.deviceSpan.mutate_step(0); }, Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.deviceSpan.mutate_device_ns(-1); },
                 Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.deviceSpan.mutate_time_ns(kMaxRunNs); },
                 Violation::kTimeOutOfRange);
    refusesBatch([](GoodBatch& b) { b.deviceSpan.mutate_device_ns(b.deviceSpan.time_ns() + 1); },
                 Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.deviceSpan.mutate_step(2); }, Violation::kUndefinedId);
  }

  void judgesIds() {
    refusesBatch([](GoodBatch& b) { b.sync.mutate_op(77); }, Violation::kUndefinedId);
    refusesBatch([](GoodBatch& b) { b.fallback.mutate_module_id(77); }, Violation::kUndefinedId);
    refusesBatch([](GoodBatch& b) { b.fallback.mutate_call_site(77); }, Violation::kUndefinedId);
    refusesBatch([](GoodBatch& b) { b.phase.mutate_thread(9); }, Violation::kUndefinedId);
    refusesBatch([](GoodBatch& b) { b.marker.mutate_text(77); }, Violation::kUndefinedId);
  }

  void judgesEnumsAndNumbers() {
    refusesBatch([](GoodBatch& b) { b.phase.mutate_phase(static_cast<events::Phase>(9)); },
                 Violation::kUnknownEnum);
    refusesBatch([](GoodBatch& b) { b.phase.mutate_phase(events::Phase::None); },
                 Violation::kUnknownEnum);
    refusesBatch([](GoodBatch& b) { b.marker.mutate_kind(static_cast<events::MarkerKind>(200)); },
                 Violation::kUnknownEnum);
    refusesBatch([](GoodBatch& b) { b.memory.mutate_driver_bytes(~0ull); },
                 Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.system.mutate_footprint_bytes(-2); },
                 Violation::kNumberOutOfRange);
    for (const float percent : {-0.5f, 100.5f, NAN}) {
      refusesBatch([=](GoodBatch& b) { b.system.mutate_gpu_percent(percent); },
                   Violation::kNumberOutOfRange);
    }
    refusesBatch([](GoodBatch& b) { b.fallback.mutate_wait_ns(21); }, Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.evaluation.mutate_accuracy(1.5f); },
                 Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.evaluation.mutate_accuracy(NAN); },
                 Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.marker.mutate_value_after(INFINITY); },
                 Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.drop.mutate_count(0); }, Violation::kNumberOutOfRange);
    refusesBatch([](GoodBatch& b) { b.sync.mutate_deliberate(2); }, Violation::kNumberOutOfRange);
  }
};

QTEST_APPLESS_MAIN(TestValidator)
#include "tst_validator.moc"
