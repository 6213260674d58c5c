// However a recording is damaged, reading it ends, and missing frames are reported.

#include "analysis/live_store.h"
#include "run/recording_loader.h"
#include "support/recording_file.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::run;

namespace {

/// Replays into a live store, as `highwater report` does, and keeps the frames.
class Replay final : public MessageSink {
 public:
  void take(std::span<const std::uint8_t> frame, const Message& message) override {
    frames.emplace_back(frame.begin(), frame.end());
    store.take(frame, message);
  }
  analysis::LiveStore store;
  std::vector<wire::FrameBytes> frames;
};

}  // namespace

class TestDamagedRecordings : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  QByteArray bytes_;
  std::vector<wire::FrameBytes> frames_;
  int refused_ = 0, whole_ = 0;

  [[nodiscard]] std::filesystem::path path() const {
    return folder_.filePath("copy.highwater").toStdString();
  }
  bool write(const QByteArray& bytes) const {
    QFile file(folder_.filePath("copy.highwater"));
    return file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size();
  }
  /// Loads the copy. What is wrong with the result, empty if it is correct.
  QString check() {
    Replay replay;
    const auto loaded = loadRecording(path(), replay);
    const bool isBeginning =
        replay.frames.size() <= frames_.size() &&
        std::equal(replay.frames.begin(), replay.frames.end(), frames_.begin());
    if (!isBeginning) return "frames that are not the first of those written";
    if (!loaded) {
      ++refused_;
      const bool named = loaded.error().message.find("copy.highwater") != std::string::npos;
      return named ? QString() : "no name in: " + QString::fromStdString(loaded.error().message);
    }
    if (loaded->damage.empty()) ++whole_;
    const bool whole = replay.frames.size() == frames_.size();
    return whole || !loaded->damage.empty() ? QString() : "frames are missing without a word";
  }

 private slots:
  void initTestCase() {
    const auto run = test::makeSampleRun({.steps = 25});
    test::forEachMessage(run,
                         [&](const Message& message) { frames_.push_back(wire::encode(message)); });
    QVERIFY(test::writeRecording(path(), run));
    QFile file(folder_.filePath("copy.highwater"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    bytes_ = file.readAll();
    QCOMPARE(check(), QString());
    QCOMPARE(whole_, 1);
  }
  void init() { refused_ = whole_ = 0; }

  void flippedBytes() {
    std::mt19937 random(11);
    for (int round = 0; round < 300; ++round) {
      QByteArray bytes = bytes_;
      for (int flips = 1 << (round % 6); flips > 0; --flips) {
        bytes[static_cast<qsizetype>(random() % static_cast<unsigned>(bytes.size()))] =
            static_cast<char>(random());
      }
      QVERIFY(write(bytes));
      const QString wrong = check();
      QVERIFY2(wrong.isEmpty(), qPrintable(QString("round %1: %2").arg(round).arg(wrong)));
    }
    // The flips caused each of the outcomes.
    QVERIFY2(refused_ > 30 && whole_ > 3, qPrintable(QString("%1 %2").arg(refused_).arg(whole_)));
  }

  void overwrittenPages() {
    for (qsizetype page = 1; page * 4096 < bytes_.size(); ++page) {
      for (const char fill : {'\0', '\xff'}) {
        QByteArray bytes = bytes_;
        bytes.replace(page * 4096, 4096, QByteArray(4096, fill));
        QVERIFY(write(bytes));
        const QString wrong = check();
        QVERIFY2(wrong.isEmpty(), qPrintable(QString("page %1: %2").arg(page).arg(wrong)));
      }
    }
    QCOMPARE(whole_, 2);  // the page of the table `run` holds no frames
  }

  void cutAnywhere() {
    std::mt19937 random(12);
    for (int round = 0; round < 100; ++round) {
      QVERIFY(write(bytes_.left(static_cast<qsizetype>(random() % bytes_.size()))));
      const QString wrong = check();
      QVERIFY2(wrong.isEmpty(), qPrintable(QString("round %1: %2").arg(round).arg(wrong)));
    }
    QCOMPARE(whole_, 0);
  }
};

HIGHWATER_TEST(TestDamagedRecordings, QCoreApplication)
#include "tst_damaged_recordings.moc"
