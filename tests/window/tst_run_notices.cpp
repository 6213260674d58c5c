#include <QTest>

#include "models/log_model.h"
#include "run/run.h"
#include "support/test_program.h"
#include "views/panels/banner.h"
#include "window/run_notices.h"

using namespace highwater;
using run::Run;
using window::RunNotices;

namespace {

struct NoticesBench {
  views::Banner banner;
  models::LogModel log;
  run::Run run{{}};
  RunNotices notices{&banner, &log, &run};
};

RunEnd endOf(RunEnd::Reason reason, const char* message) {
  RunEnd end;
  end.reason = reason;
  end.message = message;
  return end;
}

}  // namespace

class TestRunNotices : public QObject {
  Q_OBJECT

 private slots:
  void aPlannedEndIsNoNews() {
    NoticesBench bench;
    bench.notices.showEnd(endOf(RunEnd::Reason::kFinished, "done"));
    bench.notices.showEnd(endOf(RunEnd::Reason::kStopped, "stopped"));
    QVERIFY(bench.banner.isHidden());
    QCOMPARE(bench.log.rowCount(), 0);
  }

  void anyOtherEndNamesTheOpenOp() {
    NoticesBench bench;
    RunEnd end = endOf(RunEnd::Reason::kCrashed, "the worker was killed");
    end.openOp = "aten::mm";
    bench.notices.showEnd(end);
    QVERIFY(bench.banner.isVisible());
    QCOMPARE(bench.banner.message(), QString("the worker was killed (in aten::mm)"));
    QCOMPARE(bench.log.rowCount(), 1);
  }

  /// A worker that did not obey a stop request had to be killed.
  void aKilledWorkerDidNotStop() {
    NoticesBench bench;
    RunEnd end = endOf(RunEnd::Reason::kStopped, "killed by signal 9");
    end.signal = 9;
    bench.notices.showEnd(end);
    QVERIFY(bench.banner.isVisible());
  }

  void aStallIsShownUntilItEnds() {
    NoticesBench bench;
    emit bench.run.stalled(QStringLiteral("step 5 has stood in forward for 3 s"));
    QVERIFY(bench.banner.message().startsWith("Step 5"));
    QVERIFY(bench.banner.isVisible());
    emit bench.run.stallEnded();
    QVERIFY(bench.banner.isHidden());
    // A problem that came in between stays.
    emit bench.run.stalled(QStringLiteral("step 6 has stood in forward for 3 s"));
    emit bench.run.problem(QStringLiteral("the disk is full"));
    emit bench.run.stallEnded();
    QCOMPARE(bench.banner.message(), QString("the disk is full"));
    QVERIFY(bench.banner.isVisible());
  }
};

HIGHWATER_TEST(TestRunNotices, QApplication)
#include "tst_run_notices.moc"
