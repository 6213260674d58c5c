// Traces and tables by File, Export data: with the real dialog and the real command.
#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QLineEdit>
#include <QMessageBox>
#include <QSignalSpy>
#include <QStatusBar>
#include <QTest>
#include <QTimer>

#include "support/large_recording.h"
#include "support/recording_file.h"
#include "support/test_program.h"
#include "support/window_bench.h"
#include "views/panels/banner.h"
#include "window/main_window.h"

using namespace highwater;
using highwater::test::kWaitMs;

class TestWindowDataExport : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<test::WindowBench> bench_;
  bool asks_ = false;

  [[nodiscard]] QAction* action() const {
    return bench_->window.findChild<QAction*>(QStringLiteral("exportDataAction"));
  }
  [[nodiscard]] QString banner() const {
    const auto* banner = bench_->window.findChild<views::Banner*>(QStringLiteral("endBanner"));
    return banner->isHidden() ? QString() : banner->message();
  }
  [[nodiscard]] QString status() const { return bench_->window.statusBar()->currentMessage(); }
  [[nodiscard]] bool runs() const { return action()->text().startsWith("Cancel export"); }
  [[nodiscard]] QStringList files() const {
    return QDir(bench_->folder.path())
        .entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot);
  }

  /// Answers the dialog, or the question that follows it, and then what comes next.
  void answer(const QString& name, int kind) {
    QTimer::singleShot(20, &bench_->window, [this, name, kind] {
      QWidget* modal = QApplication::activeModalWidget();
      if (!asks_) return;
      answer(name, kind);
      if (auto* question = qobject_cast<QMessageBox*>(modal)) {
        question->button(QMessageBox::Yes)->click();
      } else if (auto* dialog = qobject_cast<QFileDialog*>(modal)) {
        auto* kinds = dialog->findChild<QComboBox*>(QStringLiteral("fileTypeCombo"));
        while (kinds->currentIndex() < kind) QTest::keyClick(kinds, Qt::Key_Down);
        dialog->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"))
            ->setText(bench_->folder.filePath(name));
        dialog->findChild<QDialogButtonBox*>(QStringLiteral("buttonBox"))
            ->button(QDialogButtonBox::Save)
            ->click();
      }
    });
  }
  /// Chooses a file and its kind by the action, and says Yes where it is asked for more.
  void choose(const QString& name, int kind) {
    asks_ = true;
    answer(name, kind);
    action()->trigger();
    asks_ = false;
  }

 private slots:
  void initTestCase() {
    QCoreApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
    test::WindowBench::useFakeWorker(HIGHWATER_FAKE_WORKER);
  }
  void init() {
    bench_ = std::make_unique<test::WindowBench>();
    bench_->window.setProgram(QStringLiteral(HIGHWATER_BIN_DIR "/highwater"));
  }
  void cleanup() { bench_.reset(); }

  void needsARun() {
    QVERIFY(!action()->isEnabled());
    const QString path = test::recordIn(bench_->folder, "a.highwater", test::makeSampleRun());
    QVERIFY(bench_->window.openRecording(path.toStdString()).ok());
    QVERIFY(action()->isEnabled());
  }

  void writesEachKind_data() {
    QTest::addColumn<int>("kind");
    QTest::addColumn<QString>("written");
    QTest::newRow("Perfetto") << 0 << "run.pftrace";
    QTest::newRow("Chrome") << 1 << "run.json";
    QTest::newRow("compressed") << 2 << "run.json.gz";
    QTest::newRow("SQLite") << 3 << "run.sqlite";
    QTest::newRow("CSV") << 4 << "run.csv";
    QTest::newRow("folder") << 5 << "run";
  }
  void writesEachKind() {
    QFETCH(int, kind);
    QFETCH(QString, written);
    const QString path = test::recordIn(bench_->folder, "a.highwater", test::makeSampleRun());
    QVERIFY(bench_->window.openRecording(path.toStdString()).ok());
    choose("run", kind);
    QTRY_VERIFY_WITH_TIMEOUT(status().startsWith("Exported "), kWaitMs);
    QVERIFY2(status().contains(bench_->folder.filePath(written)), qPrintable(status()));
    QCOMPARE(files(), QStringList({"a.highwater", written}));
    QCOMPARE(action()->text(), QString("Export data…"));
    QCOMPARE(banner(), QString());
    if (kind == 5) return;  // the dialog opens a folder that exists
    // Once more: the dialog asks, and that is enough.
    bench_->window.statusBar()->clearMessage();
    choose(written, kind);
    QTRY_VERIFY_WITH_TIMEOUT(status().startsWith("Exported "), kWaitMs);
  }

  void saysWhyItFails() {
    const QString path = test::recordIn(bench_->folder, "a.highwater", test::makeSampleRun());
    QVERIFY(bench_->window.openRecording(path.toStdString()).ok());
    QFile other(bench_->folder.filePath("other.csv"));
    QVERIFY(other.open(QFile::WriteOnly) && other.write("mine") == 4);
    other.close();
    choose("other.csv", 4);
    QTRY_VERIFY_WITH_TIMEOUT(banner().contains("other.csv exists and is not a table"), kWaitMs);
    QVERIFY(!banner().contains("highwater: "));
    QVERIFY(other.open(QFile::ReadOnly));
    QCOMPARE(other.readAll(), QByteArray("mine"));
    bench_->window.setProgram("/no/such/highwater");
    choose("run", 0);
    QTRY_VERIFY_WITH_TIMEOUT(banner().contains("/no/such/highwater cannot be started"), kWaitMs);
    QVERIFY(!runs() && action()->isEnabled());
  }

  void canBeCancelledAndLeavesNothing() {
    const QString path = bench_->folder.filePath("large.highwater");
    QVERIFY(test::writeLargeRecording(path.toStdString(), {.steps = 1500}));
    QVERIFY(bench_->window.openRecording(path.toStdString()).ok());
    choose("run", 3);
    QCOMPARE(action()->text(), QString("Cancel export of run.sqlite"));
    QTRY_COMPARE_WITH_TIMEOUT(files().size(), 2, kWaitMs);  // its draft
    action()->trigger();
    QTRY_COMPARE_WITH_TIMEOUT(status(), QString("The export of run.sqlite is cancelled"), kWaitMs);
    QCOMPARE(files(), QStringList("large.highwater"));
    QCOMPARE(banner(), QString());
    // Nor does one leave anything with which the window closes.
    choose("run", 3);
    QTRY_COMPARE_WITH_TIMEOUT(files().size(), 2, kWaitMs);
    const QString folder = bench_->folder.path();
    bench_->window.close();
    bench_->folder.setAutoRemove(false);
    bench_.reset();
    QDir left(folder);
    QCOMPARE(left.entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot),
             QStringList("large.highwater"));
    left.removeRecursively();
  }

  void exportsWhatALiveRunHasWritten() {
    bench_->window.runWorkload();
    run::Run& run = bench_->window.currentRun();
    QTRY_VERIFY_WITH_TIMEOUT(run.store().steps().records.size() > 3 && action()->isEnabled(),
                             kWaitMs);
    choose("live", 3);
    QTRY_VERIFY_WITH_TIMEOUT(status().startsWith("Exported "), kWaitMs);
    QVERIFY2(banner().contains("still being written"), qPrintable(banner()));
    QVERIFY(run.live());
    QVERIFY(QFile::exists(bench_->folder.filePath("live.sqlite")));
    run.stop();
    QTRY_VERIFY_WITH_TIMEOUT(!run.live(), kWaitMs);
  }
};

HIGHWATER_TEST(TestWindowDataExport, QApplication)
#include "tst_window_data_export.moc"
