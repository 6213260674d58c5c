#include "frames.h"
#include "store/append.h"
#include "store/database.h"
#include "store/format.h"
#include "store/recording_reader.h"
#include "support/test_program.h"
#include "wire/validator.h"

using namespace highwater;
using namespace highwater::test;

namespace {

Result<void> append(const std::filesystem::path& path) {
  return store::append(path, wire::encode(kAcceptance), kAcceptance);
}

}  // namespace

class TestAppend : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;

  std::filesystem::path recorded(const char* name) {
    const auto path = pathIn(folder_.path(), name);
    auto writer = store::RecordingWriter::create(path);
    if (!writer) return {};
    feedFrames(sampleFrames(), **writer);
    return (*writer)->close() ? path : std::filesystem::path();
  }

 private slots:
  void addsOneFrameBehindTheOthers() {
    const auto path = recorded("a.highwater");
    const ReadBack before = readFrames(path);
    const auto added = append(path);
    QVERIFY2(added.ok(), added ? "" : added.error().message.c_str());
    const ReadBack after = readFrames(path);
    QVERIFY(after.result.ok());
    QCOMPARE(after.frames.size(), before.frames.size() + 1);
    QVERIFY(std::equal(before.frames.begin(), before.frames.end(), after.frames.begin()));

    wire::Validator validator(wire::StreamSource::kRecording);
    for (const wire::FrameBytes& frame : after.frames) {
      const auto message = wire::decode(frame);
      QVERIFY(message.ok() && validator.check(*message).ok());
    }
    const auto last = wire::decode(after.frames.back());
    QCOMPARE(std::get<FallbackAcceptance>(*last).reason, kAcceptance.reason);
    QVERIFY(!std::filesystem::exists(path.string() + "-wal"));
  }

  /// Of any format: their tables for other tools stay as they are, and their checksums right.
  void addsANote_data() {
    QTest::addColumn<int>("format");
    QTest::addColumn<int>("after");
    for (const int format : {1, 4, 5, 9, store::kFormatVersion}) {
      // Readers of formats before 5 do not know notes.
      QTest::addRow("format %d", format) << format << (format < 5 ? store::kFormatVersion : format);
    }
  }
  void addsANote() {
    QFETCH(int, format);
    QFETCH(int, after);
    const auto path = recorded(QTest::currentDataTag());
    QVERIFY(
        execute(path,
                "CREATE TABLE steps (step INTEGER PRIMARY KEY, loss REAL);"
                "CREATE TABLE checksums (name TEXT PRIMARY KEY, fnv1a TEXT) WITHOUT ROWID;"
                "INSERT INTO steps VALUES (1, 0.5); INSERT INTO checksums VALUES ('steps', '1');"
                "PRAGMA user_version = " +
                    QByteArray::number(format)));
    const ReadBack before = readFrames(path);
    QVERIFY(before.result.ok());
    const Note note{1'500'000'000, 12, "here the loss jumps", 7};
    const auto added = store::append(path, wire::encode(note), note);
    QVERIFY2(added.ok(), added ? "" : added.error().message.c_str());
    const ReadBack back = readFrames(path);
    QCOMPARE(back.frames.size(), before.frames.size() + 1);
    const auto last = wire::decode(back.frames.back());
    QCOMPARE(std::get<Note>(*last).text, note.text);
    QCOMPARE(std::get<Note>(*last).timeNs, note.timeNs);
    auto db = store::Database::open(path, SQLITE_OPEN_READONLY);
    QVERIFY(db.ok());
    QCOMPARE(*db->value("PRAGMA user_version"), std::to_string(after));
    QCOMPARE(*db->value("SELECT group_concat(step || ' ' || loss || ' ' || name || fnv1a)"
                        " FROM steps, checksums"),
             "1 0.5 steps1");
  }

  void refusesWhatIsNoRecording() {
    const auto missing = append(pathIn(folder_.path(), "missing"));
    QVERIFY(!missing && missing.error().code == ErrorCode::kNotFound);
    const auto text = pathIn(folder_.path(), "text");
    QVERIFY(writeBytes(text, "no recording"));
    QVERIFY(!append(text).ok());
    QCOMPARE(bytesOf(text), QByteArray("no recording"));
  }

  void refusesARunThatGoesOn() {
    const auto path = pathIn(folder_.path(), "live.highwater");
    auto writer = store::RecordingWriter::create(path);
    QVERIFY(writer.ok());
    const auto added = append(path);
    QVERIFY(!added && added.error().message.find("is being written by a running process") !=
                          std::string::npos);
    feedFrames(sampleFrames(), **writer);
    QVERIFY((*writer)->close().ok());
    QCOMPARE(readFrames(path).frames.size(), sampleFrames().size());
  }
};

HIGHWATER_TEST(TestAppend, QCoreApplication)
#include "tst_append.moc"
