#pragma once

#include <QAbstractListModel>
#include <QString>
#include <optional>
#include <vector>

namespace highwater::models {

/// A command of the window as the palette lists it.
struct Command {
  QString name;  ///< "Light"
  QString path;  ///< its menus: "View › Theme"; empty for one without a menu
  QString key;   ///< "Ctrl+K"; empty for one without a key
  bool enabled = true;
  bool checked = false;
  QString words = {};  ///< other words for it, which are searched and not shown
};

/// How well a command fits what was typed: better ones have a higher score. `at` are the letters of
/// the name that fit.
struct CommandFit {
  int score = 0;
  QList<int> at;
};
/// Compares a command with what was typed, ignoring case. Each word must be in the name or in the
/// path, or begin one of the other words, or its letters in the name in this order ("epc" fits
/// "Export picture"). Words at the begin of a word of the name count most. std::nullopt if the
/// command does not fit.
[[nodiscard]] std::optional<CommandFit> fitOf(const Command& command, const QString& typed);

/// The commands that fit what was typed, the best first and of equal ones those that can run; all,
/// in their own order, for nothing.
class CommandList final : public QAbstractListModel {
  Q_OBJECT

 public:
  /// Extra roles: the parts of a command, the letters that fit (QList<int>), and its index in
  /// setCommands().
  enum Role {
    kPathRole = Qt::UserRole + 1,
    kKeyRole,
    kCheckedRole,
    kEnabledRole,
    kFitRole,
    kIndexRole
  };

  using QAbstractListModel::QAbstractListModel;

  void setCommands(std::vector<Command> commands);
  /// Shows the commands that fit `typed`.
  void setFilter(const QString& typed);

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

 private:
  struct Row {
    std::size_t command;
    CommandFit fit;
  };
  std::vector<Command> commands_;
  std::vector<Row> rows_;
};

}  // namespace highwater::models
