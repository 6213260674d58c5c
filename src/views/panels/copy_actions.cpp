#include "views/panels/copy_actions.h"

#include <QAbstractItemView>
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QListView>
#include <QTableView>
#include <algorithm>
#include <vector>

#include "models/table_text.h"
#include "views/tr.h"

namespace highwater::views {
namespace {

/// The visible columns, in the order on screen.
std::vector<int> columnsOf(const QAbstractItemView& view) {
  const auto* table = qobject_cast<const QTableView*>(&view);
  if (!table) return {0};
  std::vector<int> columns;
  const QHeaderView* header = table->horizontalHeader();
  for (int place = 0; place < header->count(); ++place) {
    const int column = header->logicalIndex(place);
    if (!header->isSectionHidden(column)) columns.push_back(column);
  }
  return columns;
}

void copyRows(const QAbstractItemView& view) {
  std::vector<int> rows;
  for (const QModelIndex& index : view.selectionModel()->selectedIndexes()) {
    rows.push_back(index.row());
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  if (rows.empty()) return;
  QStringList lines;
  for (const int row : rows) lines << models::rowText(*view.model(), row, columnsOf(view));
  QApplication::clipboard()->setText(lines.join(QLatin1Char('\n')));
}

QAction* addAction(QWidget* widget, const QString& text, const char* name) {
  auto* action = new QAction(text, widget);
  action->setObjectName(QLatin1String(name));
  widget->addAction(action);
  if (widget->contextMenuPolicy() == Qt::DefaultContextMenu) {
    widget->setContextMenuPolicy(Qt::ActionsContextMenu);
  }
  return action;
}

}  // namespace

void addCopyActions(QAbstractItemView* view) {
  QAction* copy = addAction(view, tr("Copy"), "copyRowAction");
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  QObject::connect(copy, &QAction::triggered, view, [view] { copyRows(*view); });
  if (qobject_cast<QTableView*>(view)) {
    QAction* csv = addAction(view, tr("Copy table as CSV"), "copyCsvAction");
    QObject::connect(csv, &QAction::triggered, view, [view] { copyAsCsv(*view); });
  }
}

void copyAsCsv(const QAbstractItemView& view) {
  // A long run has a million steps.
  QApplication::setOverrideCursor(Qt::WaitCursor);
  QApplication::clipboard()->setText(models::csvOf(*view.model(), columnsOf(view)));
  QApplication::restoreOverrideCursor();
}

QAction* addCopyText(QWidget* widget, const QString& name, std::function<QString()> text) {
  QAction* copy = addAction(widget, name, "copyTextAction");
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  if (widget->focusPolicy() == Qt::NoFocus) widget->setFocusPolicy(Qt::ClickFocus);
  QObject::connect(copy, &QAction::triggered, widget, [text = std::move(text)] {
    const QString copied = text();
    if (!copied.isEmpty()) QApplication::clipboard()->setText(copied);
  });
  return copy;
}

}  // namespace highwater::views
