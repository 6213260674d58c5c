#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFile>
#include <QFileDialog>
#include <QLineEdit>
#include <QMenu>
#include <QTemporaryDir>
#include <QTest>
#include <QXmlStreamReader>

#include "support/pane_bench.h"
#include "support/test_program.h"
#include "views/panes/memory_pane.h"
#include "views/panes/overview_pane.h"
#include "views/panes/pane_picture.h"
#include "views/panes/step_panes.h"
#include "views/panes/timeline_pane.h"

using namespace highwater;
using namespace highwater::views;

namespace {

struct PictureBench : test::PaneBench {
  PictureBench() { feed({.steps = 40, .opsFromStep = 5}); }
  template <typename Pane>
  std::unique_ptr<Pane> make() {
    auto pane = std::make_unique<Pane>(&store, &axis, &focus);
    pane->resize(800, 200);
    pane->show();
    pane->renderNow();
    return pane;
  }
};

/// The elements that draw in an SVG document; -1 if it is not well-formed.
int drawnElements(const QByteArray& svg) {
  QXmlStreamReader xml(svg);
  int drawn = 0;
  while (!xml.atEnd()) {
    if (xml.readNext() != QXmlStreamReader::StartElement) continue;
    for (const char* name : {"path", "rect", "polyline", "polygon", "text", "image"}) {
      drawn += xml.name() == QLatin1String(name) ? 1 : 0;
    }
  }
  return xml.hasError() ? -1 : drawn;
}

/// Opens the pane's menu as a right click does, and returns it.
QMenu* openMenu(TimePane& pane) {
  QContextMenuEvent event(QContextMenuEvent::Mouse, {300, 100}, pane.mapToGlobal(QPoint(300, 100)));
  QApplication::sendEvent(&pane, &event);
  return pane.findChild<QMenu*>(QStringLiteral("paneMenu"));
}

void choose(QMenu* menu, int index) {
  QTest::mouseClick(menu, Qt::LeftButton, {},
                    menu->actionGeometry(menu->actions()[index]).center());
}

}  // namespace

class TestPanePicture : public QObject {
  Q_OBJECT

 private slots:
  void everyPaneIsAPictureAndADrawing() {
    PictureBench bench;
    const auto check = [](TimePane& pane) {
      const QImage image = paneImage(pane);
      QCOMPARE(image.size(), pane.size() * pane.devicePixelRatioF());
      const QByteArray svg = paneSvg(pane);
      QVERIFY2(drawnElements(svg) > 5, qPrintable(pane.objectName()));
      // What is on screen stays as it was.
      QCOMPARE(paneImage(pane), image);
    };
    check(*bench.make<MemoryPane>());
    check(*bench.make<StepTimePane>());
    check(*bench.make<ThroughputPane>());
    check(*bench.make<TimelinePane>());
    check(*bench.make<OverviewPane>());
  }

  void isSavedByItsSuffix() {
    PictureBench bench;
    const QTemporaryDir folder;
    const auto pane = bench.make<MemoryPane>();
    const QString png = folder.filePath("a.png"), svg = folder.filePath("a.svg");
    QVERIFY(savePane(*pane, png));
    QCOMPARE(QImage(png).size(), paneImage(*pane).size());
    QVERIFY(savePane(*pane, svg));
    QFile file(svg);
    QVERIFY(file.open(QIODevice::ReadOnly));
    QVERIFY(drawnElements(file.readAll()) > 20);
    const auto other = savePane(*pane, folder.filePath("a.txt"));
    QVERIFY(!other && other.error().code == ErrorCode::kUsage);
    const auto nowhere = savePane(*pane, folder.filePath("none/a.png"));
    QVERIFY(!nowhere && nowhere.error().message.find("cannot be written") != std::string::npos);
  }

  void theMenuCopiesThePicture() {
    PictureBench bench;
    const auto pane = bench.make<MemoryPane>();
    QApplication::clipboard()->clear();
    choose(openMenu(*pane), 0);
    QTRY_COMPARE(QApplication::clipboard()->image().size(), paneImage(*pane).size());
  }

  void theMenuSavesTheDrawing() {
    PictureBench bench;
    const QTemporaryDir folder;
    const auto pane = bench.make<MemoryPane>();
    choose(openMenu(*pane), 2);
    QTRY_VERIFY(pane->findChild<QFileDialog*>(QStringLiteral("panePictureDialog")));
    auto* dialog = pane->findChild<QFileDialog*>(QStringLiteral("panePictureDialog"));
    dialog->setDirectory(folder.path());
    auto* name = dialog->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"));
    QVERIFY(name);
    QCOMPARE(name->text(), QString("highwater-memory.svg"));
    QTest::keyClick(name, Qt::Key_Return);
    QTRY_VERIFY(QFile::exists(folder.filePath("highwater-memory.svg")));
  }
};

HIGHWATER_TEST(TestPanePicture, QApplication)
#include "tst_pane_picture.moc"
