#include "window/help_dialogs.h"

#include <QAction>
#include <QCoreApplication>
#include <QDialog>
#include <QGridLayout>
#include <QLabel>
#include <QMessageBox>

#include "views/panes/time_keys.h"

namespace highwater::window {
namespace {

QString tr(const char* text) {
  return QCoreApplication::translate("HelpDialogs", text);
}

}  // namespace

void showKeysDialog(QWidget* parent) {
  auto* dialog = parent->findChild<QDialog*>(QStringLiteral("keysDialog"));
  if (!dialog) {
    dialog = new QDialog(parent);
    dialog->setObjectName(QStringLiteral("keysDialog"));
    dialog->setWindowTitle(tr("Keys"));
    auto* grid = new QGridLayout(dialog);
    grid->setContentsMargins(16, 16, 16, 16);
    grid->setHorizontalSpacing(24);
    int row = 0;
    for (const auto& [key, meaning] : views::timeKeys()) {
      auto* name = new QLabel(key, dialog);
      name->setProperty("kind", "title");
      grid->addWidget(name, row, 0);
      grid->addWidget(new QLabel(meaning, dialog), row++, 1);
    }
    for (const QAction* action : parent->actions()) {
      if (action->shortcut().isEmpty()) {
        continue;
      }
      auto* name = new QLabel(action->shortcut().toString(QKeySequence::NativeText), dialog);
      name->setProperty("kind", "title");
      grid->addWidget(name, row, 0);
      grid->addWidget(new QLabel(action->text().remove(QLatin1Char('&')), dialog), row++, 1);
    }
  }
  dialog->show();
  dialog->raise();
}

void showAboutDialog(QWidget* parent, const analysis::LiveStore& store) {
  QString text =
      tr("<b>Highwater %1</b><p>Profiler and memory monitor for PyTorch training on MPS. "
         "GPL-3.0-or-later.</p><p>Qt %2</p>")
          .arg(QCoreApplication::applicationVersion().toHtmlEscaped(), QLatin1String(qVersion()));
  if (store.hello()) {
    text += tr("<p>Worker %1, PyTorch %2, %3</p>")
                .arg(QString::fromStdString(store.hello()->workerVersion).toHtmlEscaped(),
                     QString::fromStdString(store.hello()->torchVersion).toHtmlEscaped(),
                     QString::fromStdString(store.hello()->platform).toHtmlEscaped());
  }
  QMessageBox::about(parent, tr("About Highwater"), text);
}

}  // namespace highwater::window
