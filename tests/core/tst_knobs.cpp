#include <QTest>

#include <limits>

#include "core/knobs.h"

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
                             "20:batch=3:seq=4"}) {
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

QTEST_APPLESS_MAIN(TestKnobs)
#include "tst_knobs.moc"
