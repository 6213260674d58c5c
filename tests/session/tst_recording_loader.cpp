#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "session/recording_loader.h"
#include "store/recording_writer.h"
#include "support/sample_run.h"
#include "wire/codec.h"

using namespace highwater;
using namespace highwater::session;

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
};

QTEST_GUILESS_MAIN(TestRecordingLoader)
#include "tst_recording_loader.moc"
