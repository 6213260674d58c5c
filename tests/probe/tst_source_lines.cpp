#include <sys/stat.h>

#include <fstream>

#include "probe/call_sites/source_lines.h"
#include "support/test_program.h"
#include "wire/limits.h"

using namespace highwater;
using namespace highwater::probe;

class TestSourceLines : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;

  [[nodiscard]] std::string path(const char* name) const {
    return folder_.filePath(QString::fromLatin1(name)).toStdString();
  }
  [[nodiscard]] std::string write(const char* name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

 private slots:
  void readsLinesWithoutTheirIndentation() {
    const std::string file = write("a.py", "def f(x):\r\n    if x.item() > 3:  \n\n\treturn 1");
    SourceLines lines;
    QCOMPARE(lines.text(file, 1), std::string("def f(x):"));
    QCOMPARE(lines.text(file, 2), std::string("if x.item() > 3:"));
    QCOMPARE(lines.text(file, 3), std::string());
    QCOMPARE(lines.text(file, 4), std::string("return 1"));
    QCOMPARE(lines.text(file, 5), std::string());
    QCOMPARE(lines.text(file, 0), std::string());
  }

  void cutsNoCharacter() {
    std::string line;
    while (line.size() <= wire::kMaxLineTextBytes) line += "\u20ac";  // of three bytes
    SourceLines lines;
    QCOMPARE(lines.text(write("long.py", line), 1),
             line.substr(0, wire::kMaxLineTextBytes / 3 * 3));
  }

  void readsAFileOnce() {
    const std::string file = write("b.py", "first\n");
    SourceLines lines;
    QCOMPARE(lines.text(file, 1), std::string("first"));
    (void)write("b.py", "other\n");
    QCOMPARE(lines.text(file, 1), std::string("first"));
  }

  void whatIsNoTextOfTheProgramHasNoLines() {
    SourceLines lines;
    QCOMPARE(lines.text(path("missing.py"), 1), std::string());
    QCOMPARE(lines.text("a.py", 1), std::string());
    QCOMPARE(lines.text("<stdin>", 1), std::string());
    QCOMPARE(lines.text("", 1), std::string());
    QCOMPARE(lines.text(folder_.path().toStdString(), 1), std::string());
    QCOMPARE(lines.text(write("latin.py", "x = '\xe9'\n"), 1), std::string());
    QCOMPARE(lines.text(write("large.py", std::string(SourceLines::kMostFileBytes + 1, 'x')), 1),
             std::string());
    const std::string pipe = path("pipe.py");
    QCOMPARE(::mkfifo(pipe.c_str(), 0600), 0);
    QCOMPARE(lines.text(pipe, 1), std::string());
    SourceLines earlier(std::time(nullptr) - 3600);
    QCOMPARE(earlier.text(write("changed.py", "x\n"), 1), std::string());
  }

  void keepsNoMoreThanItsLimit() {
    const std::string content(SourceLines::kMostFileBytes, 'x');
    std::vector<std::string> files;
    for (const char* name : {"1", "2", "3", "4", "5", "6"}) files.push_back(write(name, content));
    SourceLines lines;  // what is written later counts as changed
    std::size_t known = 0;
    for (const std::string& file : files) known += lines.text(file, 1).empty() ? 0 : 1;
    QCOMPARE(known, SourceLines::kMostBytes / SourceLines::kMostFileBytes);
  }
};

HIGHWATER_TEST(TestSourceLines, QCoreApplication)
#include "tst_source_lines.moc"
