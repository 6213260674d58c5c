// The dialog that compares the CPU with MPS, by real events.
#include <QAction>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

#include "support/own_home.h"
#include "support/sample_benchmark.h"
#include "support/test_program.h"
#include "views/tuning/benchmark_plot.h"
#include "window/benchmark_dialog.h"
#include "window/main_window.h"

using namespace highwater;
using highwater::test::kWaitMs;
using highwater::test::sampleBenchmark;
using window::BenchmarkDialog;
using window::MainWindow;

namespace {

template <typename T>
T* part(QWidget& parent, const char* name) {
  return parent.findChild<T*>(QLatin1String(name));
}

QString cell(const QTableView* table, int row, int column) {
  return table->model()->index(row, column).data().toString();
}

}  // namespace

namespace {

const QString kStart = QStringLiteral(
    R"(echo '{"kind":"start","schema":1,"torch":"2.13.0","simulated":true,"cpu_threads":1,)"
    R"("workload":{"name":"issue-classifier","batch":16,"seq":64}}')"
    "\n");
const QString kTiming = QStringLiteral(
    R"(echo '{"kind":"timing","name":"matmul 8x8x8 float32","what":"matmul","m":8,"k":8,"n":8,)"
    R"("dtype":"float32","calls":1,"cpu":{"first_ms":3,"measurements":[{"submitted_ms":2,)"
    R"("done_ms":2},{"submitted_ms":4,"done_ms":4}]},"mps":{"first_ms":9,"measurements":[)"
    R"({"submitted_ms":0.5,"done_ms":1},{"submitted_ms":0.5,"done_ms":2}]}}')"
    "\n");
const QString kProgress =
    QStringLiteral("echo '{\"kind\":\"progress\",\"doing\":\"training step\",\"done\":0.5}'\n");
const QString kEnd = QStringLiteral("echo '{\"kind\":\"end\"}'\n");

}  // namespace

class TestBenchmarkDialog : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    test::useOwnHome();
    QVERIFY(folder_.isValid());
  }

  void isACommandOfTheWindow() {
    MainWindow window(optionsOf(QStringLiteral("exit 1")), nullptr, MainWindow::Settings::kOff);
    auto* dialog = open(window);
    QVERIFY(dialog);
    // A second time leads to the same dialog.
    part<QAction>(window, "benchmarkAction")->trigger();
    QCOMPARE(window.findChildren<BenchmarkDialog*>().size(), 1);
    QVERIFY(part<QLabel>(*dialog, "benchmarkEmpty")->isVisible());
    QVERIFY(!part<QPushButton>(*dialog, "benchmarkCopy")->isEnabled());
    QVERIFY(part<QPushButton>(*dialog, "benchmarkStart")->isEnabled());
  }

  void measuresAndShows() {
    // The worker also notes how it was asked.
    const QString asked = folder_.filePath("asked");
    MainWindow window(
        optionsOf("echo \"$@\" > " + asked + '\n' + kStart + kProgress + kTiming + kEnd), nullptr,
        MainWindow::Settings::kOff);
    auto* dialog = open(window);
    QVERIFY(dialog);
    auto* shapes = part<QLineEdit>(*dialog, "benchmarkShapes");
    shapes->selectAll();
    QTest::keyClicks(shapes, "8x8x8, 16x8x4");
    QTest::keyClick(part<QComboBox>(*dialog, "benchmarkType"), Qt::Key_Down);
    QTest::mouseClick(part<QCheckBox>(*dialog, "benchmarkStep"), Qt::LeftButton, {}, {8, 8});
    QTest::mouseClick(part<QPushButton>(*dialog, "benchmarkStart"), Qt::LeftButton);
    QVERIFY(QTest::qWaitFor([&] { return !dialog->isMeasuring(); }, kWaitMs));
    QCOMPARE(part<QLabel>(*dialog, "benchmarkMessage")->text(), QString("Done."));
    QFile file(asked);
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QString line = QString::fromUtf8(file.readAll());
    for (const char* argument : {"--benchmark matmul,drift", "--matmul 8x8x8", "--matmul 16x8x4",
                                 "--matmul-dtype bfloat16", "--device sim"}) {
      QVERIFY2(line.contains(QLatin1String(argument)), qPrintable(line));
    }
    const auto* times = part<QTableView>(*dialog, "benchmarkTimes");
    QVERIFY(times->isVisible());
    QCOMPARE(times->model()->rowCount(), 2);
    QCOMPARE(cell(times, 0, 0), QString("8x8x8, float32"));
    QCOMPARE(cell(times, 0, 2), QString("3.00 ms"));
    QCOMPARE(cell(times, 1, 1), QString("simulated MPS"));
    QCOMPARE(cell(times, 1, 2), QString("1.50 ms"));
    QTest::mouseClick(part<QPushButton>(*dialog, "benchmarkCopy"), Qt::LeftButton);
    QVERIFY(QGuiApplication::clipboard()->text().contains("matmul 8x8x8"));
  }

  void showsASimulationAsOne() {
    MainWindow window({}, nullptr, MainWindow::Settings::kOff);
    auto* dialog = open(window);
    QVERIFY(dialog);
    for (const bool simulated : {true, false}) {
      dialog->setBenchmark(sampleBenchmark(simulated, 4, 1e-4));
      const QString speed = part<QLabel>(*dialog, "benchmarkSpeed")->text();
      const QString heading = part<QLabel>(*dialog, "benchmarkHeading")->text();
      QCOMPARE(speed.contains("as fast"), !simulated);
      QCOMPARE(heading.contains("nothing about a Mac"), simulated);
      const auto* plot = part<views::BenchmarkPlot>(*dialog, "benchmarkPlot");
      QCOMPARE(plot->bars()[1]->name(), simulated ? QString("simulated MPS") : QString("MPS"));
      // In multiples of the CPU's time, with quartiles on both devices.
      QCOMPARE(plot->bars()[0]->dataCount(), 2);
      QCOMPARE(plot->bars()[0]->dataMainValue(0), 1.0);
      QVERIFY(std::abs(plot->bars()[1]->dataMainValue(0) - 0.25) < 1e-9);
      for (const QCPErrorBars* errors : plot->errorBars()) {
        QCOMPARE(errors->dataCount(), 2);
        QVERIFY(errors->data()->at(0).errorPlus > 0);
      }
      const auto* modules = part<QTableView>(*dialog, "benchmarkModules");
      QCOMPARE(modules->model()->rowCount(), 2);
      QCOMPARE(cell(modules, 1, 0), QString("layers.0.query"));
      QCOMPARE(cell(modules, 1, 1), QString("3.0e-04"));
      QVERIFY(part<QLabel>(*dialog, "benchmarkDriftText")->text().contains("hardly notices"));
    }
  }

  void cancelKeepsWhatItHad() {
    MainWindow window(optionsOf(kStart + kTiming + kProgress + "exec sleep 60"), nullptr,
                      MainWindow::Settings::kOff);
    auto* dialog = open(window);
    QVERIFY(dialog);
    auto* start = part<QPushButton>(*dialog, "benchmarkStart");
    QTest::mouseClick(start, Qt::LeftButton);
    auto* message = part<QLabel>(*dialog, "benchmarkMessage");
    QVERIFY(QTest::qWaitFor([&] { return message->text().contains("training step"); }, kWaitMs));
    QCOMPARE(part<QProgressBar>(*dialog, "benchmarkProgress")->value(), 500);
    QVERIFY(!part<QLineEdit>(*dialog, "benchmarkShapes")->isEnabled());
    QCOMPARE(start->text(), QString("Cancel"));
    QTest::mouseClick(start, Qt::LeftButton);
    QVERIFY(QTest::qWaitFor([&] { return !dialog->isMeasuring(); }, kWaitMs));
    QVERIFY2(message->text().contains("interrupted"), qPrintable(message->text()));
    QCOMPARE(part<QTableView>(*dialog, "benchmarkTimes")->model()->rowCount(), 2);
    QCOMPARE(start->text(), QString("Start"));
  }

  void closingEndsTheWorker() {
    MainWindow window(optionsOf(kStart + "exec sleep 60"), nullptr, MainWindow::Settings::kOff);
    auto* dialog = open(window);
    QVERIFY(dialog);
    QTest::mouseClick(part<QPushButton>(*dialog, "benchmarkStart"), Qt::LeftButton);
    QVERIFY(dialog->isMeasuring());
    QTest::keyClick(dialog, Qt::Key_Escape);
    QVERIFY(!dialog->isVisible());
    QVERIFY(QTest::qWaitFor([&] { return !dialog->isMeasuring(); }, kWaitMs));
  }

  void saysWhatIsWrong_data() {
    QTest::addColumn<QString>("shapes");
    QTest::addColumn<QString>("device");
    QTest::addColumn<QString>("says");
    QTest::newRow("shape") << QString("8x8") << QString("sim") << QString("MxKxN");
    QTest::newRow("no shape") << QString() << QString("sim") << QString("MxKxN");
    QTest::newRow("cpu") << QString("8x8x8") << QString("cpu") << QString("Run > Device");
  }

  void saysWhatIsWrong() {
    QFETCH(QString, shapes);
    QFETCH(QString, device);
    QFETCH(QString, says);
    session::LaunchOptions options;
    options.device = device.toStdString();
    MainWindow window(options, nullptr, MainWindow::Settings::kOff);
    auto* dialog = open(window);
    QVERIFY(dialog);
    auto* field = part<QLineEdit>(*dialog, "benchmarkShapes");
    field->selectAll();
    QTest::keyClick(field, Qt::Key_Delete);
    QTest::keyClicks(field, shapes);
    const QString message = part<QLabel>(*dialog, "benchmarkMessage")->text();
    QVERIFY2(message.contains(says), qPrintable(message));
    QVERIFY(!part<QPushButton>(*dialog, "benchmarkStart")->isEnabled());
  }

  void saysHowAWorkerFailed() {
    MainWindow window(
        optionsOf(QStringLiteral("echo 'highwater-worker: <b>no</b> mps' >&2; exit 1")), nullptr,
        MainWindow::Settings::kOff);
    auto* dialog = open(window);
    QVERIFY(dialog);
    QTest::mouseClick(part<QPushButton>(*dialog, "benchmarkStart"), Qt::LeftButton);
    QVERIFY(QTest::qWaitFor([&] { return !dialog->isMeasuring(); }, kWaitMs));
    const auto* message = part<QLabel>(*dialog, "benchmarkMessage");
    QCOMPARE(message->text(), QString("<b>no</b> mps"));
    QCOMPARE(message->textFormat(), Qt::PlainText);
    QVERIFY(part<QLabel>(*dialog, "benchmarkEmpty")->isVisible());
  }

 private:
  /// Makes a worker of the shell script, and a window that starts it. Opens the dialog.
  BenchmarkDialog* open(MainWindow& window) {
    window.show();
    part<QAction>(window, "benchmarkAction")->trigger();
    auto* dialog = part<BenchmarkDialog>(window, "benchmarkDialog");
    return dialog && QTest::qWaitForWindowExposed(dialog) ? dialog : nullptr;
  }

  QString worker(const QString& script) {
    QFile file(folder_.filePath(QStringLiteral("worker%1").arg(++workers_)));
    if (!file.open(QIODevice::WriteOnly)) return {};
    file.write("#!/bin/sh\n" + script.toUtf8() + '\n');
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return file.fileName();
  }

  session::LaunchOptions optionsOf(const QString& script) {
    session::LaunchOptions options;
    options.device = "sim";
    options.workerProgram = worker(script);
    return options;
  }

  QTemporaryDir folder_;
  int workers_ = 0;
};

HIGHWATER_TEST(TestBenchmarkDialog, QApplication)
#include "tst_benchmark_dialog.moc"
