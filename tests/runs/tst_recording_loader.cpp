#include "analysis/live_store.h"
#include "run/recording_loader.h"
#include "store/recording_writer.h"
#include "support/large_recording.h"
#include "support/sample_run.h"
#include "support/test_program.h"
#include "wire/codec.h"

using namespace highwater;
using namespace highwater::run;

namespace {

class Collector final : public MessageSink {
 public:
  void take(std::span<const std::uint8_t> frame, const Message& message) override {
    frames.emplace_back(frame.begin(), frame.end());
    ended = std::holds_alternative<RunEnd>(message);
  }
  std::vector<wire::FrameBytes> frames;
  bool ended = false;
};

std::vector<wire::FrameBytes> record(const std::filesystem::path& path,
                                     const std::vector<test::OwnedMessage>& run) {
  std::vector<wire::FrameBytes> frames;
  auto writer = store::RecordingWriter::create(path);
  if (!writer) return frames;
  test::forEachMessage(run, [&](const Message& message) {
    frames.push_back(wire::encode(message));
    (*writer)->take(frames.back(), message);
  });
  if (!(*writer)->close()) frames.clear();
  return frames;
}

}  // namespace

class TestRecordingLoader : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  std::filesystem::path path(const char* name) {
    return folder_.filePath(QString::fromLatin1(name)).toStdString();
  }

 private slots:
  void replaysTheFramesAsTheyCame() {
    const auto frames = record(path("a.highwater"), test::makeSampleRun());
    QVERIFY(!frames.empty());
    Collector collector;
    QVERIFY(loadRecording(path("a.highwater"), collector));
    QVERIFY(collector.frames == frames);
    QVERIFY(collector.ended);
  }

  void refusesWhatInflatesBeyondItsSize() {
    constexpr std::uint64_t kSamples = 5'000'000;
    QVERIFY(test::writeEqualSamples(path("bomb.highwater"), kSamples));
    QVERIFY(std::filesystem::file_size(path("bomb.highwater")) < 200'000);
    analysis::LiveStore store;
    const auto loaded = loadReadablePart(path("bomb.highwater"), store);
    QVERIFY(loaded && loaded->cutOff);
    QVERIFY2(
        loaded->damage.front().find("over 100 times the size of its file") != std::string::npos,
        loaded->damage.front().c_str());
    QVERIFY(!store.memory().timesNs.empty() && store.memory().timesNs.size() < kSamples / 2);
  }

  void readsNoMoreThanTheMemoryHolds() {
    const auto frames = record(path("much.highwater"), test::makeSampleRun());
    Collector whole, part;
    LoadControl control;
    control.mostBytes = 1u << 20;
    QVERIFY(loadRecording(path("much.highwater"), whole, control));
    control.mostBytes = 1000;
    const auto loaded = loadReadablePart(path("much.highwater"), part, control);
    QVERIFY(loaded && loaded->cutOff);
    QVERIFY2(
        loaded->damage.front().find("too much for the memory of this machine") != std::string::npos,
        loaded->damage.front().c_str());
    QVERIFY(part.frames.size() > 3 && part.frames.size() < frames.size());
  }

  void inventsNoEnd() {
    test::SampleRunOptions options;
    options.ended = false;
    QVERIFY(!record(path("b.highwater"), test::makeSampleRun(options)).empty());
    Collector collector;
    QVERIFY(loadRecording(path("b.highwater"), collector));
    QVERIFY(!collector.ended);
  }

  void holdsARecordingToTheSameRules() {
    auto run = test::makeSampleRun();
    run.erase(run.begin() + 2);  // the definitions
    QVERIFY(!record(path("c.highwater"), run).empty());
    Collector collector;
    const auto loaded = loadRecording(path("c.highwater"), collector);
    QVERIFY(!loaded);
    QVERIFY(loaded.error().code == ErrorCode::kMalformed);
    const QString message = QString::fromStdString(loaded.error().message);
    QVERIFY2(message.startsWith("c.highwater is damaged: "), qPrintable(message));
    QVERIFY2(message.contains("undefined id"), qPrintable(message));
  }

  void refusesWhatIsNoRecording() {
    QFile file(folder_.filePath("d.highwater"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("not a recording\n");
    file.close();
    Collector collector;
    const auto loaded = loadRecording(path("d.highwater"), collector);
    QVERIFY(!loaded);
    QVERIFY(loaded.error().code == ErrorCode::kMalformed);
    const auto absent = loadRecording(path("absent.highwater"), collector);
    QVERIFY(!absent);
    QVERIFY(absent.error().code == ErrorCode::kNotFound);
    QCOMPARE(collector.frames.size(), std::size_t(0));
  }

  void tellsItsProgressAndEndsWhenCancelled() {
    test::SampleRunOptions options;
    options.steps = 400;
    QVERIFY(!record(path("p.highwater"), test::makeSampleRun(options)).empty());
    Collector collector;
    std::vector<double> shares;
    QVERIFY(loadRecording(path("p.highwater"), collector,
                          {{}, [&](double share) { shares.push_back(share); }}));
    QVERIFY(!shares.empty());
    QVERIFY(std::is_sorted(shares.begin(), shares.end()));
    QVERIFY(shares.front() >= 0 && shares.back() < 1);
    int asked = 0;
    const auto cancelled =
        loadRecording(path("p.highwater"), collector, {[&asked] { return ++asked > 5; }, {}});
    QVERIFY(!cancelled);
    QVERIFY(cancelled.error().code == ErrorCode::kFailed);
  }

  void anOverviewSpansTheRun() {
    const auto run = test::makeSampleRun({.steps = 300});
    auto writer = store::RecordingWriter::create(path("o.highwater"));
    QVERIFY(writer);
    test::forEachMessage(
        run, [&](const Message& message) { (*writer)->take(wire::encode(message), message); });
    QVERIFY((*writer)->close());
    analysis::LiveStore whole, overview;
    test::feed(run, whole);
    QVERIFY(loadOverview(path("o.highwater"), overview, 60'000));
    QVERIFY(overview.hello().has_value());
    QVERIFY(overview.run().has_value());
    QCOMPARE(overview.completeUpToNs(), whole.completeUpToNs());
    QVERIFY(!overview.steps().records.empty());
    // Only what it shows, and nothing that the run does not have.
    QVERIFY(overview.phases().empty());
    const auto& times = overview.memory().timesNs;
    const auto& all = whole.memory().timesNs;
    QVERIFY(std::includes(all.begin(), all.end(), times.begin(), times.end()));
  }

  void anOverviewInNoTimeStillHasBothEnds() {
    const auto run = test::makeSampleRun({.steps = 300});
    QVERIFY(!record(path("q.highwater"), run).empty());
    analysis::LiveStore whole, overview;
    test::feed(run, whole);
    QVERIFY(loadOverview(path("q.highwater"), overview, 0));
    QCOMPARE(overview.completeUpToNs(), whole.completeUpToNs());
    QVERIFY(!overview.memory().timesNs.empty());
    QVERIFY(overview.memory().timesNs.size() <= whole.memory().timesNs.size());
  }
};

HIGHWATER_TEST(TestRecordingLoader, QCoreApplication)
#include "tst_recording_loader.moc"
