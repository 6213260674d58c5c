#include "views/panes/pane_picture.h"

#include <QApplication>
#include <QBuffer>
#include <QClipboard>
#include <QFileDialog>
#include <QFileInfo>
#include <QImageWriter>
#include <QMenu>
#include <QMessageBox>
#include <QPointer>
#include <QSvgGenerator>

#include "models/saved_file.h"
#include "views/panes/time_pane.h"
#include "views/tr.h"

namespace highwater::views {
namespace {

/// "highwater-memory.png" for the pane "memoryPane".
QString suggestedName(const TimePane& pane, const QString& suffix) {
  QString name = pane.objectName();
  if (name.endsWith(QStringLiteral("Pane"))) name.chop(4);
  return QStringLiteral("highwater-") + (name.isEmpty() ? QStringLiteral("pane") : name) + suffix;
}

void saveAs(TimePane& pane, const QString& suffix, const QString& filter) {
  auto* dialog = new QFileDialog(&pane, tr("Save picture"));
  dialog->setObjectName(QStringLiteral("panePictureDialog"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  dialog->setNameFilter(filter);
  dialog->setDefaultSuffix(suffix.mid(1));
  dialog->selectFile(suggestedName(pane, suffix));
  QObject::connect(dialog, &QFileDialog::fileSelected, &pane, [&pane](const QString& path) {
    if (const auto saved = savePane(pane, path); !saved) {
      auto* box =
          new QMessageBox(QMessageBox::Warning, tr("Save picture"),
                          QString::fromStdString(saved.error().message), QMessageBox::Ok, &pane);
      box->setTextFormat(Qt::PlainText);
      box->setAttribute(Qt::WA_DeleteOnClose);
      box->open();
    }
  });
  dialog->open();
}

}  // namespace

QImage paneImage(TimePane& pane) {
  pane.renderNow();
  return pane.grab().toImage();
}

QByteArray paneSvg(TimePane& pane) {
  pane.renderNow();
  QBuffer buffer;
  QSvgGenerator generator;
  generator.setOutputDevice(&buffer);
  generator.setTitle(pane.accessibleName());
  generator.setSize(pane.size());
  generator.setViewBox(pane.rect());
  generator.setResolution(96);
  QCPPainter painter;
  if (!painter.begin(&generator)) return {};
  painter.setMode(QCPPainter::pmVectorized);
  pane.toPainter(&painter, pane.width(), pane.height());
  painter.end();
  // The axes were laid out for the painter.
  pane.renderNow();
  return buffer.data();
}

Result<void> savePane(TimePane& pane, const QString& path) {
  const QByteArray kind = QFileInfo(path).suffix().toLower().toLatin1();
  QByteArray bytes;
  if (kind == "svg") {
    bytes = paneSvg(pane);
  } else if (QImageWriter::supportedImageFormats().contains(kind)) {
    QBuffer buffer(&bytes);
    if (!QImageWriter(&buffer, kind).write(paneImage(pane))) bytes.clear();
  } else {
    return usageError("the name must end in .png or .svg: " + path.toStdString());
  }
  if (bytes.isEmpty()) return failure(path.toStdString() + ": the picture cannot be drawn");
  return models::saveFile(path, bytes);
}

void showPictureMenu(TimePane& pane, const QPoint& globalPosition) {
  auto* menu = new QMenu(&pane);
  menu->setObjectName(QStringLiteral("paneMenu"));
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->addAction(tr("Copy picture"), &pane,
                  [&pane] { QApplication::clipboard()->setImage(paneImage(pane)); });
  menu->addAction(tr("Save as PNG…"), &pane,
                  [&pane] { saveAs(pane, QStringLiteral(".png"), tr("Pictures (*.png)")); });
  menu->addAction(tr("Save as SVG…"), &pane,
                  [&pane] { saveAs(pane, QStringLiteral(".svg"), tr("Drawings (*.svg)")); });
  menu->popup(globalPosition);
}

}  // namespace highwater::views
