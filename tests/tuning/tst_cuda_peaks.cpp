// The memory model on an allocator that is not ours: peaks of eight trainings on a real GPU, by
// PyTorch's CUDA caching allocator (tests/bench/trainings/cuda_account.py). Its rules of what is
// reserved are not those of MPS, so that memory is predicted from peaks alone.

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "core/units.h"
#include "support/test_program.h"
#include "tuning/device_limits.h"
#include "tuning/memory_model.h"
#include "tuning/request_model.h"

using namespace highwater;
using namespace highwater::tuning;

namespace {

constexpr double kGoodShare = 0.03;  ///< of a peak, by which the median prediction may be off
constexpr double kMostAbove = 0.05;  ///< of the peaks, that may lie above their upper bounds

std::uint64_t bytesIn(const QJsonValue& value) {
  return static_cast<std::uint64_t>(value.toInteger());
}

/// A training at one batch size.
struct GpuAccount {
  Observation observation;
  std::optional<StepTrace> trace;
};

struct GpuTraining {
  QString name;
  std::vector<GpuAccount> settings;  ///< by batch
};

GpuAccount gpuAccountOf(const QJsonObject& json) {
  GpuAccount account;
  account.observation = {.setting = {static_cast<std::uint32_t>(json["batch"].toInt()), 1},
                         .peakCurrent = bytesIn(json["allocated"]),
                         .exact = true,
                         .peakDriver = bytesIn(json["reserved"]),
                         .leftAllocated = bytesIn(json["left"]),
                         .steps = 7};
  if (!json.contains("steps")) return account;
  account.trace = StepTrace{account.observation.setting, false, bytesIn(json["base"]), {}};
  for (const QJsonValue& step : json["steps"].toArray()) {
    auto& requests = account.trace->steps.emplace_back();
    for (const QJsonValue& each : step.toArray()) {
      requests.push_back({.bytes = bytesIn(each[0]),
                          .requested = bytesIn(each[0]),
                          .freedBefore = bytesIn(each[1])});
    }
  }
  return account;
}

std::vector<GpuTraining> trainings() {
  QFile file(HIGHWATER_CUDA_PEAKS);
  if (!file.open(QIODevice::ReadOnly)) return {};
  std::vector<GpuTraining> all;
  const QJsonDocument json = QJsonDocument::fromJson(file.readAll());
  for (const QJsonValue& training : json["trainings"].toArray()) {
    all.push_back({training["name"].toString(), {}});
    for (const QJsonValue& each : training["settings"].toArray()) {
      all.back().settings.push_back(gpuAccountOf(each.toObject()));
    }
  }
  return all;
}

/// How well one of the two memories was predicted at settings that were not tried.
struct PredictionScore {
  std::vector<double> errors;  ///< relative
  int above = 0;               ///< measured above the upper bound

  void add(const Prediction& predicted, std::uint64_t measured) {
    const auto truth = static_cast<double>(measured);
    errors.push_back(std::abs(static_cast<double>(predicted.bytes) / truth - 1));
    above += measured > predicted.upper ? 1 : 0;
  }
  void add(const PredictionScore& other) {
    errors.insert(errors.end(), other.errors.begin(), other.errors.end());
    above += other.above;
  }
  [[nodiscard]] double median() const {
    std::vector<double> sorted = errors;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  [[nodiscard]] double aboveShare() const { return above / static_cast<double>(errors.size()); }
  [[nodiscard]] QString text() const {
    return QString("%1 % (worst %2 %), %3 of %4 above the upper bound")
        .arg(100 * median(), 0, 'f', 1)
        .arg(100 * *std::max_element(errors.begin(), errors.end()), 0, 'f', 1)
        .arg(above)
        .arg(errors.size());
  }
};

/// The sizes that a sweep would have tried first; the model predicts all others.
bool isTried(std::uint32_t batch, bool withRequests) {
  return batch == 16 || batch == 48 || (!withRequests && batch == 96);
}

/// As fitModel() does: where the requests of two sizes do not fit together, from peaks alone.
Result<MemoryModel> gpuModelOf(const GpuTraining& training, bool withRequests) {
  std::vector<Observation> tried;
  std::vector<StepTrace> traces;
  for (const GpuAccount& each : training.settings) {
    if (!isTried(each.observation.setting.batch, withRequests)) continue;
    tried.push_back(each.observation);
    if (withRequests && each.trace) traces.push_back(*each.trace);
  }
  std::optional<RequestModel> requests;
  if (auto made = RequestModel::make(traces)) requests = std::move(*made);
  return MemoryModel::fit(tried, test::limitsOf(140 * kGiB), 0, std::move(requests));
}

}  // namespace

class TestCudaPeaks : public QObject {
  Q_OBJECT

 private slots:
  void predictsWhatWasNotTried_data() {
    QTest::addColumn<bool>("withRequests");
    QTest::newRow("peaks alone") << false;
    QTest::newRow("requests") << true;
  }
  void predictsWhatWasNotTried() {
    QFETCH(bool, withRequests);
    const std::vector<GpuTraining> all = trainings();
    QCOMPARE(all.size(), std::size_t{8});
    PredictionScore current, driver;
    int played = 0;
    for (const GpuTraining& training : all) {
      QVERIFY(training.settings.size() == 10);
      const auto model = gpuModelOf(training, withRequests);
      QVERIFY(model);
      played += model->confidence().fromRequests ? 1 : 0;
      PredictionScore ofCurrent, ofDriver;
      for (const GpuAccount& each : training.settings) {
        const Observation& truth = each.observation;
        if (isTried(truth.setting.batch, withRequests)) continue;
        ofCurrent.add(model->current(truth.setting), truth.peakCurrent);
        QVERIFY(model->driver(truth.setting).upper >= model->current(truth.setting).upper);
        ofDriver.add(model->driver(truth.setting), truth.peakDriver);
        qInfo("  %u: %s, measured %s; reserved %s, measured %s", truth.setting.batch,
              model->current(truth.setting).text().c_str(), formatBytes(truth.peakCurrent).c_str(),
              model->driver(truth.setting).text().c_str(), formatBytes(truth.peakDriver).c_str());
      }
      qInfo("%s%s: allocated %s; reserved %s", qPrintable(training.name),
            model->confidence().fromRequests ? ", played" : "", qPrintable(ofCurrent.text()),
            qPrintable(ofDriver.text()));
      current.add(ofCurrent);
      driver.add(ofDriver);
    }
    qInfo("all: allocated %s; reserved %s", qPrintable(current.text()), qPrintable(driver.text()));
    QVERIFY2(current.median() <= kGoodShare, qPrintable(current.text()));
    QVERIFY2(current.aboveShare() <= kMostAbove, qPrintable(current.text()));
    QVERIFY(withRequests ? played >= 3 : played == 0);
    if (withRequests) return;
    QVERIFY2(driver.aboveShare() <= kMostAbove, qPrintable(driver.text()));
  }
};

HIGHWATER_TEST(TestCudaPeaks, QCoreApplication)
#include "tst_cuda_peaks.moc"
