#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include "analysis/step_events.h"
#include "support/sample_run.h"
#include "support/test_program.h"
#include "views/panels/details_strip.h"
#include "views/panels/event_table.h"

using namespace highwater;
using namespace highwater::views;
using test::kMs;

namespace {

enum Site : CallSiteId { kHere = 20, kGone = 21, kRelative = 22 };

}  // namespace

class TestDetailsStrip : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  QString file_;
  analysis::LiveStore store_;
  TimeAxis axis_;
  EventFocus focus_{&store_, &axis_};

 private slots:
  void initTestCase() {
    file_ = folder_.filePath(QStringLiteral("train <b>.py"));
    QFile source(file_);
    QVERIFY(source.open(QIODevice::WriteOnly));
    for (const Message& each : definitions()) store_.apply(each);
    Definitions sites;
    sites.callSites = {{kHere, kNoId, "main", file_.toStdString(), 41},
                       {kGone, kNoId, "main", "/no/such/train.py", 7},
                       {kRelative, kNoId, "main", "train.py", 9}};
    store_.apply(sites);
    test::OwnedBatch batch;
    batch.memorySamples.emplace_back(5 * kMs, 100 << 20, 300 << 20, 8ULL << 30,
                                     events::SampleOrigin::Timer);
    batch.memorySamples.emplace_back(15 * kMs, 200 << 20, 400 << 20, 8ULL << 30,
                                     events::SampleOrigin::Timer);
    const auto wait = [&](std::int64_t ms, CallSiteId site, events::SyncKind kind) {
      batch.syncPoints.emplace_back(ms * kMs, 3 * kMs, 8, 1, test::kCopy, test::kLayer1, site, 1,
                                    kind, events::Phase::Forward, 0);
    };
    wait(10, kHere, events::SyncKind::CopyToHost);
    wait(20, kGone, events::SyncKind::CopyToDevice);
    wait(30, kRelative, events::SyncKind::CopyToHost);
    batch.completeUpToNs = 100 * kMs;
    store_.apply(batch.view());
    axis_.setExtent({0, 100 * kMs});
  }

  void saysWhatAndWhereAndTheMemoryThen() {
    DetailsStrip strip(&store_, &focus_);
    strip.resize(1200, 28);
    strip.show();
    QVERIFY(QTest::qWaitForWindowExposed(&strip, test::kWaitMs));
    auto* link = strip.findChild<QToolButton*>(QStringLiteral("callSiteButton"));
    QVERIFY(!link->isVisible());
    focus_.pick({Lane::kSyncPoints, 0});
    QCOMPARE(strip.words().value(0), QString("_to_copy to host"));
    QCOMPARE(strip.words().value(1), QString("waited 3.00 ms"));
    QVERIFY(strip.words().contains("step 1, forward"));
    QVERIFY(strip.words().contains("encoder.layers.1"));
    // Of the sample before the event, not of the one after.
    QVERIFY2(strip.words().contains("live 100.0 MiB, driver 300.0 MiB"),
             qPrintable(strip.words().join('|')));
    QVERIFY(link->isVisible());
    QCOMPARE(link->text(), QString("train <b>.py:41"));
    QVERIFY(link->geometry().right() <
            strip.findChild<QToolButton*>(QStringLiteral("previousEventButton"))->x());
    QSignalSpy requested(&focus_, &EventFocus::sourceRequested);
    QTest::mouseClick(link, Qt::LeftButton);
    QCOMPARE(requested.count(), 1);
    QCOMPARE(requested.first().at(0).toString(), file_);
    QCOMPARE(requested.first().at(1).toInt(), 41);
  }

  void onlyAFileOfThisMachineIsALink() {
    DetailsStrip strip(&store_, &focus_);
    strip.resize(1200, 28);
    strip.show();
    auto* link = strip.findChild<QToolButton*>(QStringLiteral("callSiteButton"));
    for (const std::uint32_t index : {1U, 2U}) {
      focus_.pick({Lane::kSyncPoints, index});
      QVERIFY(!link->isVisible());
      QVERIFY(strip.words().join('|').contains("train.py:"));
    }
    QSignalSpy requested(&focus_, &EventFocus::sourceRequested);
    focus_.openSource(kGone);
    focus_.openSource(kRelative);
    focus_.openSource(kNoId);
    QCOMPARE(requested.count(), 0);
    focus_.openSource(kHere);
    QCOMPARE(requested.count(), 1);
  }

  void stepsToTheNextAndBack() {
    DetailsStrip strip(&store_, &focus_);
    strip.resize(1200, 28);
    strip.show();
    QVERIFY(QTest::qWaitForWindowExposed(&strip, test::kWaitMs));
    focus_.clear();
    axis_.setCursor(9 * kMs);
    const auto click = [&](const char* name) {
      QTest::mouseClick(strip.findChild<QToolButton*>(QLatin1String(name)), Qt::LeftButton);
    };
    click("nextEventButton");
    QCOMPARE(focus_.picked(), (EventRef{Lane::kSyncPoints, 0}));
    QVERIFY(strip.words().front().endsWith("to host"));
    focus_.pick({Lane::kSyncPoints, 1});
    QVERIFY(strip.words().front().endsWith("to device"));
  }

  void littleRoomKeepsTheNameAndTheLink() {
    DetailsStrip strip(&store_, &focus_);
    strip.resize(430, 28);
    strip.show();
    focus_.pick({Lane::kSyncPoints, 0});
    QCOMPARE(strip.words().value(0), QString("_to_copy to host"));
    QVERIFY(strip.findChild<QToolButton*>(QStringLiteral("callSiteButton"))->isVisible());
    QVERIFY(!strip.grab().isNull());
  }

 private:
  static std::vector<Message> definitions() {
    std::vector<Message> all;
    for (const auto& message : test::makeSampleRun({.steps = 1})) {
      if (const auto* each = std::get_if<Definitions>(&message)) all.emplace_back(*each);
    }
    return all;
  }
};

HIGHWATER_TEST(TestDetailsStrip, QApplication)
#include "tst_details_strip.moc"
