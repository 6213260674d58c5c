// Who may include whom: the table of docs/architecture.md, held by the include directives.
#include <QDirIterator>
#include <QMap>
#include <QRegularExpression>
#include <QSet>

#include "support/test_program.h"

namespace {

/// What a folder may include: folders of src/, and libraries.
struct Wall {
  QSet<QString> folders;
  bool qt = false;
  bool widgets = false;
  bool torch = false;
};

QMap<QString, Wall> walls() {
  const QSet<QString> all = {"core", "wire",   "store", "analysis", "tuning", "session",
                             "run",  "models", "views", "report",   "window", "cli"};
  return {
      {"core", {{"core"}}},
      {"wire", {{"wire", "core"}}},
      {"store", {{"store", "core"}}},
      {"analysis", {{"analysis", "core"}}},
      {"tuning", {{"tuning", "analysis", "core"}}},
      {"session", {{"session", "core", "wire"}, true}},
      {"run", {{"run", "core", "wire", "store", "analysis", "tuning", "session"}, true}},
      {"models", {{"models", "core", "analysis", "tuning"}, true}},
      {"views", {{"views", "models", "tuning", "analysis", "core"}, true, true}},
      {"report", {{"report", "store", "tuning", "analysis", "core"}, true}},
      {"window", {all - QSet<QString>{"cli"}, true, true}},
      {"cli", {all, true, true}},
      {"probe", {{"probe", "core", "wire"}, false, false, true}},
      {"process", {{"process", "probe", "core", "wire", "simmps"}, false, false, true}},
      {"worker", {{"worker", "process", "probe", "core", "wire"}, false, false, true}},
      {"python", {{"python", "process", "probe", "core", "wire"}}},
      {"simmps", {{"simmps", "core"}, false, false, true}},
  };
}

bool isTorch(const QString& header) {
  static const QRegularExpression pattern("^(torch|ATen|c10|caffe2)/");
  return pattern.match(header).hasMatch();
}

bool isWidgets(const QString& header) {
  static const QRegularExpression pattern(
      "(Widget|MainWindow|Dialog|Button|Slider|SpinBox|ComboBox|Layout|TableView|TreeView|"
      "StatusBar|ToolBar|DockWidget|^QApplication|^QLabel|^QMenu|^QAction|qcustomplot)");
  return pattern.match(header).hasMatch();
}

bool isQt(const QString& header) {
  static const QRegularExpression pattern("^(Q[A-Z]\\w*|Qt\\w*/\\S+|qcustomplot\\S*)$");
  return pattern.match(header).hasMatch();
}

struct Include {
  QString file;
  QString header;
};

QList<Include> includesOf(const QString& folder) {
  static const QRegularExpression pattern("^\\s*#\\s*include\\s*[<\"]([^>\"]+)[>\"]");
  QList<Include> includes;
  QDirIterator files(folder, {"*.h", "*.cpp", "*.mm"}, QDir::Files, QDirIterator::Subdirectories);
  while (files.hasNext()) {
    QFile file(files.next());
    if (!file.open(QIODevice::ReadOnly)) continue;
    while (!file.atEnd()) {
      const auto match = pattern.match(QString::fromUtf8(file.readLine()));
      if (match.hasMatch()) includes.append({file.fileName(), match.captured(1)});
    }
  }
  return includes;
}

}  // namespace

class TestWalls : public QObject {
  Q_OBJECT

 private:
  const QString source_ = QStringLiteral(HIGHWATER_SOURCE_DIR "/src/");

 private slots:
  void everyFolderHasAWall() {
    const QStringList folders =
        QDir(source_).entryList(QDir::Dirs | QDir::NoDotAndDotDot, QDir::Name);
    QVERIFY(folders.size() >= 9);
    for (const QString& folder : folders) {
      QVERIFY2(walls().contains(folder), qPrintable(folder));
    }
  }

  void holds_data() {
    QTest::addColumn<QString>("folder");
    for (const QString& folder : walls().keys()) QTest::newRow(qPrintable(folder)) << folder;
  }
  void holds() {
    QFETCH(QString, folder);
    const auto all = walls();
    const Wall wall = all[folder];
    QStringList breaches;
    for (const auto& [file, header] : includesOf(source_ + folder)) {
      const QString first = header.section(u'/', 0, 0);
      const bool ours = header.contains(u'/') && all.contains(first);
      if (ours ? !wall.folders.contains(first)
               : (isTorch(header) && !wall.torch) || (isQt(header) && !wall.qt) ||
                     (isWidgets(header) && isQt(header) && !wall.widgets)) {
        breaches << file + " includes " + header;
      }
    }
    QVERIFY2(breaches.isEmpty(), qPrintable(breaches.join(u'\n')));
  }

  /// Inside simmps/ too: sanitizers run on policy/, and the process loads the device at run time.
  void theSimulatedDeviceHasInnerWalls() {
    QStringList breaches;
    const auto policy = includesOf(source_ + "simmps/policy");
    QVERIFY(!policy.isEmpty());
    for (const auto& [file, header] : policy) {
      if (isTorch(header) || header.startsWith("simmps/device/")) {
        breaches << file + " includes " + header;
      }
    }
    for (const auto& [file, header] : includesOf(source_ + "process")) {
      if (header.startsWith("simmps/") && header != "simmps/simmps.h") {
        breaches << file + " includes " + header;
      }
    }
    QVERIFY2(breaches.isEmpty(), qPrintable(breaches.join(u'\n')));
  }

  void noFileKnowsBothQtAndTorch() {
    QMap<QString, QPair<bool, bool>> seen;
    for (const auto& [file, header] : includesOf(source_)) {
      seen[file].first |= isQt(header);
      seen[file].second |= isTorch(header);
    }
    QVERIFY(!seen.isEmpty());
    for (auto it = seen.cbegin(); it != seen.cend(); ++it) {
      QVERIFY2(!(it->first && it->second), qPrintable(it.key()));
    }
  }

  void seesABreach() {
    QVERIFY(isQt("QString") && isQt("QtCore/qglobal.h") && !isQt("queue"));
    QVERIFY(isTorch("torch/torch.h") && isTorch("ATen/ATen.h") && !isTorch("core/clock.h"));
    QVERIFY(isWidgets("QMainWindow") && !isWidgets("QString"));
  }
};

HIGHWATER_TEST(TestWalls, QCoreApplication)
#include "tst_walls.moc"
