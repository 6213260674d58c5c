#include "support/test_program.h"
#include "worker/data/data_set.h"

using namespace highwater;
using namespace highwater::worker;

class TestDataSet : public QObject {
  Q_OBJECT
 private slots:
  void splitsEachClassAlike() {
    const auto path = write("a.csv", "text,label\n" + rows("b", 50) + rows("a", 25));
    const auto data = loadDataSet(path, std::nullopt, 1);
    QVERIFY(data);
    QCOMPARE(data->name, std::string("a.csv"));
    QCOMPARE(data->labelNames, (std::vector<std::string>{"a", "b"}));
    QCOMPARE(data->train.size(), std::size_t{60});
    QCOMPARE(data->heldOut.size(), std::size_t{15});
    QCOMPARE(std::count(data->heldOut.labels.begin(), data->heldOut.labels.end(), 0), 5);
    std::set<std::string> all(data->train.texts.begin(), data->train.texts.end());
    all.insert(data->heldOut.texts.begin(), data->heldOut.texts.end());
    QCOMPARE(all.size(), std::size_t{75});
  }

  void splitsTheSameWayAgain() {
    const auto path = write("a.csv", "text,label\n" + rows("b", 50) + rows("a", 25));
    QCOMPARE(loadDataSet(path, std::nullopt, 1)->heldOut.texts,
             loadDataSet(path, std::nullopt, 1)->heldOut.texts);
    QVERIFY(loadDataSet(path, std::nullopt, 1)->heldOut.texts !=
            loadDataSet(path, std::nullopt, 2)->heldOut.texts);
  }

  void usesTheHeldOutFile() {
    const auto train = write("t.csv", "label,id,text\na,1,one\nb,2,two\n");
    const auto held = write("h.csv", "text,label\nthree,b\n");
    const auto data = loadDataSet(train, held, 1);
    QVERIFY(data);
    QCOMPARE(data->train.texts, (std::vector<std::string>{"one", "two"}));
    QCOMPARE(data->heldOut.labels, (std::vector<std::int64_t>{1}));
    const auto bad = write("h.csv", "text,label\nthree,b\nfour,c\n");
    const auto refused = loadDataSet(train, bad, 1);
    QVERIFY(!refused);
    QVERIFY(refused.error().message.find("h.csv, line 3") != std::string::npos);
    QVERIFY(refused.error().message.find("\"c\"") != std::string::npos);
  }

  void keepsTheBeginningOfALongText() {
    constexpr std::size_t kMost = std::size_t{1} << 20;
    // A two-byte character crosses the limit and is left out.
    const QByteArray text = QByteArray(static_cast<qsizetype>(kMost) - 1, 'x') + "\xc3\xa9 end";
    const auto train = write("t.csv", "text,label\n" + text + ",a\n" + rows("b", 1));
    const auto data = loadDataSet(train, write("h.csv", "text,label\n" + rows("b", 1)), 1);
    QVERIFY2(data.ok(), data.ok() ? "" : data.error().message.c_str());
    QCOMPARE(data->train.texts[0].size(), kMost - 1);
    QCOMPARE(data->train.texts[0].back(), 'x');
    QCOMPARE(data->labelNames, (std::vector<std::string>{"a", "b"}));
  }

  void takesALabelOf1KiB() {
    const QByteArray label(1024, 'x');
    const auto train = write("t.csv", "text,label\none," + label + "\ntwo,b\n");
    const auto data = loadDataSet(train, write("h.csv", "text,label\nthree,b\n"), 1);
    QVERIFY(data);
    QCOMPARE(data->labelNames[1], label.toStdString());
  }

  void refuses_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("says");
    QTest::newRow("empty") << QByteArray() << "is empty";
    QTest::newRow("header only") << QByteArray("text,label\n") << "no rows";
    QTest::newRow("columns") << QByteArray("title,kind\na,b\n") << "\"title,kind\"";
    QTest::newRow("one class") << "text,label\n" + rows("a", 9) << "label \"a\"";
    QTest::newRow("few rows") << "text,label\n" + rows("a", 9) + rows("b", 4) << "\"b\" has 4 rows";
    QTest::newRow("no label") << QByteArray("text,label\na,b\nc,\n")
                              << "line 3: the label is empty";
    QTest::newRow("no text") << QByteArray("text,label\na,b\n\" \",b\n")
                             << "line 3: the text is empty";
    QTest::newRow("long label")
        << "text,label\na," + QByteArray(1025, 'x') + "\n"
        << "line 2: the label has 1025 bytes; allowed are at most 1024; is a "
           "quote above it not closed?";
    QTest::newRow("fields") << QByteArray("text,label\na,b\nc,d,e\n") << "line 3: 3 fields";
  }

  void refuses() {
    QFETCH(QByteArray, text);
    QFETCH(QString, says);
    const auto data = loadDataSet(write("bad.csv", text), std::nullopt, 1);
    QVERIFY(!data);
    const QString message = QString::fromStdString(data.error().message);
    QVERIFY2(message.contains(says) && message.contains("bad.csv"), qPrintable(message));
  }

  void readsTheSampleTexts() {
    qputenv("HIGHWATER_DATASETS", HIGHWATER_SOURCE_DIR "/resources/datasets");
    const auto files = findSampleData("/nowhere");
    QVERIFY(files);
    const auto data = loadDataSet(files->train, files->heldOut, 1);
    QVERIFY2(data.ok(), data.ok() ? "" : data.error().message.c_str());
    QCOMPARE(data->labelNames.size(), std::size_t{3});
    QVERIFY(data->train.size() + data->heldOut.size() >= 600);
    qputenv("HIGHWATER_DATASETS", folder_.path().toUtf8());
    QVERIFY(!findSampleData("/nowhere"));
  }

 private:
  std::filesystem::path write(const char* name, const QByteArray& text) {
    QFile file(folder_.filePath(name));
    if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write");
    file.write(text);
    return folder_.filePath(name).toStdString();
  }
  QByteArray rows(const char* label, int count) {
    QByteArray text;
    for (int i = 0; i < count; ++i) {
      text += QByteArray("issue ") + QByteArray::number(i) + " of " + label + "," + label + "\n";
    }
    return text;
  }
  QTemporaryDir folder_;
};

HIGHWATER_TEST(TestDataSet, QCoreApplication)
#include "tst_data_set.moc"
