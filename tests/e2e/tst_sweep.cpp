// `highwater sweep`, and a sweep in the real window, with the real worker on the simulated device.
#include <signal.h>

#include <QAction>
#include <QLabel>
#include <QPushButton>
#include <QRegularExpression>
#include <QSlider>
#include <QSpinBox>

#include "core/exit_codes.h"
#include "e2e/hands.h"
#include "e2e/runs.h"
#include "models/tuning_state.h"
#include "run/recording_loader.h"
#include "support/test_program.h"
#include "tuning/sweep.h"
#include "views/panels/event_table.h"

using namespace highwater;
using namespace highwater::test;

namespace {

/// The number of a kernel of the first step's forward pass, the kernels 41 to 129: the host waits
/// for it in the same step, since it reads the first loss.
const QString kInFirstStep = QStringLiteral("90");
const QStringList kOneThread{QStringLiteral("OMP_NUM_THREADS=1")};

}  // namespace

class TestSweep : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

  /// Whether the device that writes this ledger has begun the kernel that never ends.
  [[nodiscard]] static bool hangs(const QString& ledger) {
    QFile file(ledger);
    return file.open(QIODevice::ReadOnly) && file.readAll().contains("\"event\":\"hang\"");
  }
  [[nodiscard]] QString path(const char* name) const {
    return folder_.filePath(QLatin1String(name));
  }

 private slots:
  void initTestCase() {
    QVERIFY(folder_.isValid());
    test::useHome(folder_);
    qputenv("OMP_NUM_THREADS", "1");
  }

  void keepsEverySettingUnderTheLimit() {
    const QString file = path("a.highwater");
    const Outcome run = runHighwater(
        {"sweep", "--device", "sim", "--sim-recommended-max", "128MiB", "--max-batch", "64",
         "--seq", "32", "--settings", "4", "--steps-per-setting", "3", "--json", "-o", file},
        kOneThread);
    QVERIFY2(run.exitCode == kExitDone, qPrintable(run.err));
    const QJsonObject sweep = jsonOf(run);
    const QJsonArray settings = sweep["settings"].toArray();
    QVERIFY2(settings.size() >= 2 && settings.size() <= 4, qPrintable(run.out));
    const double limit = sweep["limit"].toDouble();
    QCOMPARE(limit, double(static_cast<std::uint64_t>(128.0 * 1024 * 1024 * 0.9)));
    for (const QJsonValue& value : settings) {
      const QJsonObject each = value.toObject();
      QVERIFY2(each["safe"].toBool() && !each["out_of_memory"].toBool(), qPrintable(run.out));
      QVERIFY(each["driver_peak"].toDouble() > 0 && each["driver_peak"].toDouble() <= limit);
      QVERIFY(each["tokens_per_s"].toObject()["p50"].toDouble() > 0);
      QVERIFY(each["step_ms"].toDouble() > 0 && !each["why"].toString().isEmpty());
      QCOMPARE(each["length"].toInt(), 32);
    }
    QVERIFY(sweep["recommended"].isObject() && !sweep["reason"].toString().isEmpty());

    // The recording tells the same.
    analysis::LiveStore store;
    QVERIFY(run::loadRecording(file.toStdString(), store));
    const auto kept = tuning::sweepOf(store);
    QVERIFY(kept && kept->ended && kept->best);
    QCOMPARE(int(kept->best->batch), sweep["recommended"].toObject()["batch"].toInt());
    QCOMPARE(QString::fromStdString(kept->reason), sweep["reason"].toString());
    QCOMPARE(qsizetype(kept->settings.size()), settings.size());
    for (qsizetype i = 0; i < settings.size(); ++i) {
      const auto& each = kept->settings[static_cast<std::size_t>(i)];
      QCOMPARE(int(each.setting.batch), settings[i].toObject()["batch"].toInt());
      // Each setting has its steps in the run.
      const auto& records = store.steps().records;
      QVERIFY(std::count_if(records.begin(), records.end(), [&](const events::StepRecord& step) {
                return step.batch_size() == each.setting.batch;
              }) >= 4 + 3);
    }
  }

  void saysWhatDoesNotFitAtAll() {
    const QString file = path("wrong.highwater");
    const Outcome run = runHighwater({"sweep", "-o", file, "--device", "sim",
                                      "--sim-recommended-max", "512MiB", "--preset", "base"},
                                     kOneThread);
    QVERIFY(run.exitCode == kExitUsage || run.exitCode == kExitFailed);
    QVERIFY2(run.err.contains("weights, gradients and optimizer state take"), qPrintable(run.err));
    QVERIFY(!QFile::exists(file));
  }

  /// A step may take as long as it will: a few seconds are waited for it. This one never ends.
  void doesNotWaitForALongStepWhenInterrupted() {
    const QString file = path("long.highwater"), ledger = path("long.jsonl");
    QProcess process;
    process.start(HIGHWATER_BIN_DIR "/highwater",
                  {"sweep", "--device", "sim", "--seq", "32", "--batch", "8", "--max-batch", "8",
                   "--sim-hang-at", kInFirstStep, "--sim-ledger", ledger, "-o", file});
    QString out;
    QVERIFY(QTest::qWaitFor(
        [&] {
          out += QString::fromUtf8(process.readAllStandardOutput());
          return out.contains("tokens/s") && hangs(ledger);
        },
        kWaitMs));
    ::kill(static_cast<pid_t>(process.processId()), SIGINT);
    QVERIFY(process.waitForFinished(kWaitMs));
    QCOMPARE(process.exitCode(), int{kExitEndedEarly});
    const QString said = QString::fromUtf8(process.readAllStandardError());
    QVERIFY2(said.contains("interrupted: no setting was measured; " + file + " keeps the run"),
             qPrintable(said));
    analysis::LiveStore store;
    QVERIFY(run::loadRecording(file.toStdString(), store));
    // The step was abandoned, and the sweep's end is in the recording.
    QVERIFY(store.steps().records.empty());
    const auto kept = tuning::sweepOf(store);
    QVERIFY(kept && kept->ended && !kept->complete && kept->settings.empty());
  }

  /// Drags the batch slider into the red, sees the warning before releasing it, then sweeps and
  /// applies what is recommended.
  void sweepsInTheWindow() {
    session::LaunchOptions options = test::workerRun(8, 32);
    options.environment = {QStringLiteral("HIGHWATER_SIM_RECOMMENDED_MAX=96MiB")};
    Hands hands(options);
    window::MainWindow& window = hands.window;
    window.resize(1600, 1000);
    const auto& store = hands.store();
    hands.trigger("runAction");
    QTRY_VERIFY_WITH_TIMEOUT(window.tuning().model().has_value(), kWaitMs);

    auto* slider = hands.find<QSlider>("batchSlider");
    const auto warning = [&window] {
      const tuning::Setting chosen = window.tuning().chosen();
      const auto& model = window.tuning().model();
      return model ? model->headroom(chosen) : tuning::Headroom::kSafe;
    };
    QVERIFY(warning() == tuning::Headroom::kSafe);
    slider->setSliderDown(true);
    slider->setSliderPosition(slider->maximum());
    QVERIFY(window.tuning().chosen().batch > 8);
    QVERIFY(warning() != tuning::Headroom::kSafe);
    QCOMPARE(store.knobs().batchSize, 8U);  // nothing was sent yet
    slider->setSliderPosition(slider->minimum());
    slider->setSliderDown(false);

    auto* sweep = hands.find<QAction>("sweepAction");
    QTRY_VERIFY_WITH_TIMEOUT(sweep->isEnabled(), kWaitMs);
    sweep->trigger();
    QVERIFY(hands.run().sweeps());
    QVERIFY(!slider->isEnabled());
    // The window shows what sweeps: the view Tuning with the table in front, and the state.
    QVERIFY(hands.find<QAction>("tuningViewAction")->isChecked());
    auto* table = hands.find<views::EventTable>("sweepTable");
    QTRY_VERIFY(table->isVisible());
    const auto* state = hands.find<QLabel>("statusState");
    QTRY_VERIFY2(state->text().startsWith("Sweeping"), qPrintable(state->text()));
    QTRY_VERIFY_WITH_TIMEOUT(!hands.run().sweeps(), kWaitMs);
    QTRY_VERIFY(slider->isEnabled());
    QVERIFY(window.tuning().sweep() && window.tuning().sweep()->best);
    const tuning::Setting best = *window.tuning().sweep()->best;
    for (const tuning::SweptSetting& each : window.tuning().sweep()->settings) {
      QVERIFY(!each.outOfMemory);
    }
    // The table has each setting, and its row chooses it.
    const auto measured = int(window.tuning().sweep()->settings.size());
    const auto leftOut = int(window.tuning().sweep()->leftOut.size());
    QTRY_COMPARE(table->model()->rowCount(), measured + leftOut);
    QVERIFY(table->isVisible());
    QTRY_VERIFY2(!state->text().startsWith("Sweeping"), qPrintable(state->text()));
    const int last = measured - 1;
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                      table->visualRect(table->model()->index(last, 1)).center());
    QCOMPARE(window.tuning().chosen(), window.tuning().sweep()->settings.back().setting);
    auto* apply = hands.find<QPushButton>("applyRecommendedButton");
    QCOMPARE(apply->text(), "Apply " + QString::fromStdString(tuning::shortSettingText(best)));
    apply->click();
    QTRY_COMPARE_WITH_TIMEOUT(store.knobs().batchSize, best.batch, kWaitMs);
    const std::size_t before = store.steps().records.size();
    QTRY_VERIFY_WITH_TIMEOUT(store.steps().records.size() > before + 2 &&
                                 store.steps().records.back().batch_size() == best.batch,
                             kWaitMs);
    hands.trigger("stopAction");
    QTRY_COMPARE_WITH_TIMEOUT(hands.state(), Hands::State::kEnded, kWaitMs);

    // And again after reopening.
    const auto file = hands.run().recordingPath();
    QVERIFY(hands.run().open(file));
    QTRY_VERIFY(window.tuning().sweep() && window.tuning().sweep()->best == best);
    QVERIFY(!window.tuning().sweeps());
  }
};

HIGHWATER_TEST(TestSweep, QApplication)
#include "tst_sweep.moc"
