#pragma once

#include <QFrame>
#include <QList>
#include <QPointer>

#include "models/command_list.h"

class QAction;
class QLabel;
class QLineEdit;
class QListView;
class QMenuBar;

namespace highwater::views {

/// The dynamic property of an action with other words for it, which the palette searches and does
/// not show.
inline constexpr const char* kSynonyms = "synonyms";

/// A list of all commands of a window, over that window, with a field that filters it. The arrow
/// keys choose, Enter or a click runs, Esc or a click elsewhere closes.
class CommandPalette final : public QFrame {
  Q_OBJECT

 public:
  /// Makes a hidden palette over `window`, its parent.
  explicit CommandPalette(QWidget* window);

  /// Lists the actions of `menus`, and those of the window that are in no menu, as they are now,
  /// and opens the palette.
  void open(const QMenuBar* menus);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void collect(const QList<QAction*>& actions, const QString& path);
  void choose(int row);
  void showWhetherAnyFits();
  void run(const QModelIndex& index);

  QWidget* window_;
  QLineEdit* field_;
  QListView* list_;
  QLabel* nothing_;  ///< says that no command fits
  models::CommandList commands_;
  QList<QPointer<QAction>> actions_;
  std::vector<models::Command> collected_;
};

}  // namespace highwater::views
