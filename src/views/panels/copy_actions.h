#pragma once

#include <QString>
#include <functional>

class QAbstractItemView;
class QAction;
class QWidget;

namespace highwater::views {

/// Adds "Copy" (Ctrl+C) for the selected rows of a table or list, as text separated by tabs, and
/// "Copy table as CSV" to its actions, which its context menu shows. A list has no CSV.
void addCopyActions(QAbstractItemView* view);

/// Copies a table as CSV, in the order in which it is shown.
void copyAsCsv(const QAbstractItemView& view);

/// Adds an action that copies what `text` returns to a widget, which shows it in its context menu;
/// with Ctrl+C where the widget has the keyboard focus. Returns the action.
QAction* addCopyText(QWidget* widget, const QString& name, std::function<QString()> text);

}  // namespace highwater::views
