#include "core/units.h"
#include "model_test.h"
#include "models/sorted_rows.h"
#include "models/sweep_model.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::models;
using namespace highwater::test;
using tuning::Sweep;
using tuning::SweptSetting;

namespace {

SweptSetting swept(std::uint32_t batch, std::uint64_t driver) {
  SweptSetting each;
  each.setting = {batch, 64};
  each.predicted = {driver - driver / 10, driver / 2, driver * 2, tuning::Basis::kRequests};
  each.peakDriver = driver;
  each.safe = true;
  each.stepMs = 20.25;
  each.tokensPerS = batch * 100;
  each.reason = "the largest that is certain";
  return each;
}

}  // namespace

class TestSweepModel : public QObject {
  Q_OBJECT

 private slots:
  void endsWithWhatWasLeftOut() {
    SweepModel model;
    const QAbstractItemModelTester tester(&model, kFatal);
    Sweep sweep;
    sweep.settings = {swept(8, 80 * kMiB), swept(16, 160 * kMiB)};
    SweptSetting left{
        {.setting = {32, 64}}, {300 * kMiB, 200 * kMiB, 600 * kMiB}, "it may take up to 600.0 MiB"};
    left.leftOut = true;
    sweep.leftOut.push_back(left);
    model.refresh(sweep);
    QCOMPARE(model.rowCount(), 3);
    QCOMPARE(cell(model, 2, SweepModel::kNumber), QStringLiteral("–"));
    QCOMPARE(cell(model, 2, SweepModel::kSetting), QStringLiteral("32 × 64"));
    QCOMPARE(cell(model, 2, SweepModel::kAtMost), QStringLiteral("600.0 MiB"));
    QCOMPARE(cell(model, 2, SweepModel::kDriver), QStringLiteral("–"));
    QCOMPARE(cell(model, 2, SweepModel::kWhy),
             QStringLiteral("left out: it may take up to 600.0 MiB"));
  }

  void growsInTheOrderOfMeasuring() {
    SweepModel model;
    const QAbstractItemModelTester tester(&model, kFatal);
    model.refresh(std::nullopt);
    QCOMPARE(model.rowCount(), 0);
    Sweep sweep;
    for (const std::uint32_t batch : {8U, 32U, 16U}) {
      sweep.settings.push_back(swept(batch, batch * 10 * kMiB));
      model.refresh(sweep);
    }
    QCOMPARE(model.rowCount(), 3);
    QCOMPARE(cell(model, 1, SweepModel::kNumber), QStringLiteral("2"));
    QCOMPARE(cell(model, 1, SweepModel::kSetting), QStringLiteral("32 × 64"));
    QCOMPARE(cell(model, 1, SweepModel::kDriver), QStringLiteral("320.0 MiB"));
    QCOMPARE(cell(model, 1, SweepModel::kError), QStringLiteral("−10.0 %"));
    QCOMPARE(cell(model, 1, SweepModel::kStepMs), QStringLiteral("20.3"));
    QCOMPARE(model.settingOf(2), (tuning::Setting{16, 64}));
    model.refresh(std::nullopt);
    QCOMPARE(model.rowCount(), 0);
  }

  void saysWhatBecameOfASetting() {
    Sweep sweep;
    sweep.settings = {swept(8, 80 * kMiB), swept(32, 320 * kMiB), swept(64, 640 * kMiB)};
    sweep.settings[1].safe = false;
    sweep.settings[2] = SweptSetting();
    sweep.settings[2].setting = {64, 64};
    sweep.settings[2].outOfMemory = true;
    sweep.settings[2].reason = "a try";
    sweep.best = tuning::Setting{8, 64};
    SweepModel model;
    model.refresh(sweep);
    QCOMPARE(cell(model, 0, SweepModel::kWhy),
             QStringLiteral("recommended; the largest that is certain"));
    QCOMPARE(cell(model, 1, SweepModel::kWhy),
             QStringLiteral("above the limit; the largest that is certain"));
    QCOMPARE(cell(model, 2, SweepModel::kDriver), QStringLiteral("out of memory"));
    for (const int column : {SweepModel::kPredicted, SweepModel::kAtMost, SweepModel::kError,
                             SweepModel::kStepMs, SweepModel::kTokensPerS}) {
      QCOMPARE(cell(model, 2, column), QStringLiteral("–"));
    }
  }

  void sortsByNumbers() {
    Sweep sweep;
    sweep.settings = {swept(8, 80 * kMiB), swept(128, 1280 * kMiB), swept(16, 160 * kMiB)};
    SweepModel model;
    model.refresh(sweep);
    SortedRows sorted;
    sorted.setSourceModel(&model);
    for (const int column : {SweepModel::kSetting, SweepModel::kDriver, SweepModel::kTokensPerS}) {
      sorted.sort(column, Qt::DescendingOrder);
      QStringList settings;
      for (int row = 0; row < 3; ++row) {
        settings << sorted.index(row, SweepModel::kSetting).data().toString();
      }
      QCOMPARE(settings, QStringList({"128 × 64", "16 × 64", "8 × 64"}));
    }
  }
};

HIGHWATER_TEST(TestSweepModel, QCoreApplication)
#include "tst_sweep_model.moc"
