#include "core/knobs.h"
#include "support/test_program.h"

using namespace highwater;

class TestKnobs : public QObject {
  Q_OBJECT

 private slots:
  void aScriptsKnobTakesItsValuesOnly() {
    ScriptKnob batch{"batch_size", ScriptKnob::Kind::kInteger, 32, 1, 512, {}, {}, {}};
    QVERIFY(isValueOf(batch, 1) && isValueOf(batch, 512));
    QVERIFY(!isValueOf(batch, 0) && !isValueOf(batch, 513) && !isValueOf(batch, 2.5));
    QVERIFY(!isValueOf(batch, std::numeric_limits<double>::quiet_NaN()));
    batch.minimum = -std::numeric_limits<double>::infinity();
    QVERIFY(isValueOf(batch, -9'007'199'254'740'992.0) && !isValueOf(batch, -1e300));
    QCOMPARE(valueText(batch, 48), std::string("48"));
    const ScriptKnob rate{"lr", ScriptKnob::Kind::kReal, 3e-4, 0, 1, {}, {}, {}};
    QVERIFY(isValueOf(rate, 0.5) && !isValueOf(rate, 1.5));
    QCOMPARE(valueText(rate, 3e-5), std::string("3e-05"));
    const ScriptKnob loss{"loss", ScriptKnob::Kind::kChoice, 0, 0, 1, {"mean", "sum"}, {}, {}};
    QVERIFY(isValueOf(loss, 1) && !isValueOf(loss, 2) && !isValueOf(loss, 0.5));
    QVERIFY(!isValueOf(loss, -1));
    QCOMPARE(valueText(loss, 1), std::string("sum"));
    QCOMPARE(allowedText(loss), std::string("mean, sum"));
    QCOMPARE(allowedText(batch), std::string("whole numbers up to 512"));
    QCOMPARE(allowedText(rate), std::string("numbers from 0 to 1"));
  }

  void parses() {
    const auto change = parseKnobChange("20:batch=32");
    QVERIFY(change);
    QCOMPARE(change->atStep, 20u);
    QCOMPARE(change->batchSize, std::optional<std::uint32_t>(32));
    QVERIFY(!change->sequenceLength && !change->lossEvery);
    const auto both = parseKnobChange("1:seq=8,loss-every=2");
    QCOMPARE(both->sequenceLength, std::optional<std::uint32_t>(8));
    QCOMPARE(both->lossEvery, std::optional<std::uint32_t>(2));
  }

  void parsesSettingsOfTheTraining() {
    const auto change = parseKnobChange(
        "3:lr=3e-4,accumulate=4,keep-effective=on,precision=bfloat16,memory-fraction=0.9,"
        "on-out-of-memory=retry");
    QVERIFY2(change, change ? "" : change.error().message.c_str());
    QCOMPARE(change->learningRate, std::optional(3e-4));
    QCOMPARE(change->accumulation, std::optional<std::uint32_t>(4));
    QCOMPARE(change->keepEffectiveBatch, std::optional(true));
    QCOMPARE(change->precision, std::optional(Precision::kBFloat16));
    QCOMPARE(change->memoryFraction, std::optional(0.9));
    QCOMPARE(change->outOfMemory, std::optional(OutOfMemoryPolicy::kRetry));
    QVERIFY(!change->batchSize);
  }

  void refusesWhatTheDeviceLacks() {
    KnobLimits limits;
    limits.noBFloat16 = "bfloat16 on MPS needs macOS 14 or later";
    limits.noMemoryFraction = "only MPS has one, and the device is cpu";
    const auto messageOf = [&](const char* text) {
      const auto change = parseKnobChange(text, limits);
      return change ? std::string("accepted") : change.error().message;
    };
    QCOMPARE(messageOf("2:precision=bfloat16"),
             std::string("--set 2:precision=bfloat16: precision bfloat16 is not possible: bfloat16 "
                         "on MPS needs macOS 14 or later"));
    QCOMPARE(messageOf("2:precision=float16"), std::string("accepted"));
    QVERIFY(messageOf("2:memory-fraction=1").find("only MPS has one") != std::string::npos);
    SetKnobs unlimited;
    unlimited.memoryFraction = 0;
    const auto refused = checkKnobs(unlimited, {});
    QVERIFY(!refused && refused.error().message.find("--high-watermark 0") != std::string::npos);
    SetKnobs hostile;
    hostile.precision = static_cast<Precision>(77);
    QVERIFY(!checkKnobs(hostile, {}));
    hostile.precision.reset();
    hostile.learningRate = std::numeric_limits<double>::quiet_NaN();
    QVERIFY(!checkKnobs(hostile, {}));
  }

  void writesChanges() {
    const auto textOf = [](events::MarkerKind kind, double before, double after) {
      return knobChangeText(*knobOf(kind), before, after);
    };
    using Kind = events::MarkerKind;
    QCOMPARE(textOf(Kind::BatchSize, 16, 32), std::string("batch 16 \u2192 32"));
    QCOMPARE(textOf(Kind::LossInterval, 10, 1000000), std::string("loss every 10 \u2192 1000000"));
    QCOMPARE(textOf(Kind::LearningRate, 0.001, 3e-5),
             std::string("learning rate 0.001 \u2192 3e-05"));
    QCOMPARE(textOf(Kind::Precision, 1, 2), std::string("precision float32 \u2192 bfloat16"));
    QCOMPARE(textOf(Kind::Precision, 1, 99), std::string("precision float32 \u2192 99"));
    QCOMPARE(textOf(Kind::OutOfMemoryPolicy, 3, 1),
             std::string("on out of memory halve \u2192 stop"));
    QCOMPARE(textOf(Kind::KeepEffectiveBatch, 0, 1),
             std::string("keep effective batch off \u2192 on"));
  }

  void readsRealNumbers() {
    QCOMPARE(*parseReal("--lr", "3e-4", 1e-9, 10), 3e-4);
    QCOMPARE(*parseReal("--lr", ".5", 1e-9, 10), 0.5);
    for (const char* text : {"", " 1", "1 ", "+1", "-1", "1e", "1e-", "0x1", "nan", "inf", "1,5",
                             "0", "11", "1e-10", "1.2.3", "1e999", "one"}) {
      QVERIFY2(!parseReal("--lr", text, 1e-9, 10), text);
    }
  }

  void refusesOtherTexts_data() {
    QTest::addColumn<QString>("text");
    for (const char* text : {"",
                             "20",
                             "batch=3",
                             "20:batch",
                             "20:batch=",
                             "20:batch=3x",
                             "0:batch=3",
                             "-1:batch=3",
                             "x:batch=3",
                             "20=batch:3",
                             "20:width=3",
                             "20:batch=99999999999",
                             "20:batch=4097",
                             "20:batch=0",
                             "20:batch=3,",
                             "20:,batch=3",
                             "20:batch=3,batch=4",
                             "20:seq=513",
                             "20: batch=3",
                             "20:batch=3:seq=4",
                             "20:lr=0",
                             "20:lr=11",
                             "20:lr=fast",
                             "20:accumulate=0",
                             "20:accumulate=1025",
                             "20:accumulate=1.5",
                             "20:precision=unknown",
                             "20:precision=float64",
                             "20:memory-fraction=0",
                             "20:memory-fraction=2.1",
                             "20:keep-effective=1",
                             "20:on-out-of-memory=unknown",
                             "20:lr=0.1,lr=0.2"}) {
      QTest::newRow(text) << text;
    }
  }
  void refusesOtherTexts() {
    QFETCH(QString, text);
    const auto change = parseKnobChange(text.toStdString());
    QVERIFY(!change);
    QCOMPARE(change.error().code, ErrorCode::kUsage);
    QVERIFY(change.error().message.find("--set") != std::string::npos);
  }

  void obeysItsLimits() {
    const KnobLimits limits{.sequenceLength = 600};
    QCOMPARE(parseKnobChange("20:seq=600", limits)->sequenceLength,
             std::optional<std::uint32_t>(600));
    QVERIFY(!parseKnobChange("20:seq=601", limits));
    QVERIFY(checkKnobs({{}, 600, {}, 0}, limits));
    QVERIFY(!checkKnobs({0, {}, {}, 0}, limits));
    QVERIFY(!checkKnobs({16, {}, kMostLossInterval + 1, 0}, limits));
    QVERIFY(!checkKnobs(SetKnobs(), limits));
    QCOMPARE(checkKnobs({{}, 601, {}, 0}, limits).error().message,
             std::string("sequence length 601 is out of range; allowed are 1 to 600"));
  }
};

HIGHWATER_TEST(TestKnobs, QCoreApplication)
#include "tst_knobs.moc"
