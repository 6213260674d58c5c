#include "cli/progress.h"
#include "report/text_table.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::cli;

class TestProgress : public QObject {
  Q_OBJECT

 private:
  static Progress halfway() {
    Progress progress;
    progress.step = 30;
    progress.planned = 60;
    progress.loss = 0.8124;
    progress.stepNs = 21'300'000;
    progress.driverBytes = 564ull << 20;
    progress.elapsed = std::chrono::seconds(3);
    return progress;
  }

 private slots:
  void saysWhereTheRunIs() {
    QCOMPARE(progressText(halfway()),
             std::string("30/60  loss 0.812  21.3 ms/step  driver 564.0 MiB  0:03"));
    Progress early;
    early.step = 2;
    QCOMPARE(progressText(early), std::string("2  0:00"));
  }

  void fitsEveryWidth() {
    for (int columns = 1; columns < 200; ++columns) {
      const std::string line = progressBar(halfway(), columns, false);
      QVERIFY2(static_cast<int>(line.size()) < std::max(columns, 2), line.c_str());
      if (columns >= 20) QVERIFY2(line.find("30/60") != std::string::npos, line.c_str());
    }
    const std::string wide = progressBar(halfway(), 200, false);
    QVERIFY(wide.find("driver 564.0 MiB  0:03") != std::string::npos);
    QCOMPARE(std::count(wide.begin(), wide.end(), '#'), 20);
    QCOMPARE(std::count(wide.begin(), wide.end(), '.') - 3, 20);  // 0.812, 21.3, 564.0
  }

  void fillsTheBarAtTheEnd() {
    Progress done = halfway();
    done.step = 60;
    const std::string line = progressBar(done, 120, false);
    QVERIFY(line.starts_with('[' + std::string(40, '#') + "] 60/60"));
  }

  void colorsOnlyWhenAsked() {
    QVERIFY(progressBar(halfway(), 120, false).find('\x1b') == std::string::npos);
    QVERIFY(progressBar(halfway(), 120, true).find('\x1b') != std::string::npos);
  }
};

HIGHWATER_TEST(TestProgress, QCoreApplication)
#include "tst_progress.moc"
