#include "models/command_list.h"

#include <algorithm>

namespace highwater::models {
namespace {

constexpr int kInName = 100, kAtWord = 60, kAtBegin = 40, kInPath = 30, kLetters = 10;

bool beginsWord(const QString& text, qsizetype at) {
  return at == 0 || !text[at - 1].isLetterOrNumber();
}

/// The first place of `word` in `text` that begins a word, or else its first place; -1: none.
qsizetype bestPlace(const QString& text, const QString& word) {
  const qsizetype first = text.indexOf(word, 0, Qt::CaseInsensitive);
  for (qsizetype at = first; at >= 0; at = text.indexOf(word, at + 1, Qt::CaseInsensitive)) {
    if (beginsWord(text, at)) return at;
  }
  return first;
}

/// The letters of `word` in `text`, in this order; empty if one is missing.
QList<int> letters(const QString& text, const QString& word) {
  QList<int> at;
  qsizetype from = 0;
  for (const QChar letter : word) {
    from = text.indexOf(letter, from, Qt::CaseInsensitive);
    if (from < 0) return {};
    at << static_cast<int>(from++);
  }
  return at;
}

}  // namespace

std::optional<CommandFit> fitOf(const Command& command, const QString& typed) {
  CommandFit fit;
  for (const QString& word : typed.split(u' ', Qt::SkipEmptyParts)) {
    if (const qsizetype at = bestPlace(command.name, word); at >= 0) {
      fit.score +=
          kInName + (beginsWord(command.name, at) ? kAtWord : 0) + (at == 0 ? kAtBegin : 0);
      for (qsizetype i = 0; i < word.size(); ++i) fit.at << static_cast<int>(at + i);
    } else if (command.path.contains(word, Qt::CaseInsensitive)) {
      fit.score += kInPath;
    } else if (const QList<int> found = letters(command.name, word); !found.isEmpty()) {
      fit.score += kLetters;
      fit.at << found;
    } else {
      return std::nullopt;
    }
  }
  return fit;
}

void CommandList::setCommands(std::vector<Command> commands) {
  commands_ = std::move(commands);
  setFilter({});
}

void CommandList::setFilter(const QString& typed) {
  beginResetModel();
  rows_.clear();
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    if (auto fit = fitOf(commands_[i], typed)) rows_.push_back({i, std::move(*fit)});
  }
  std::stable_sort(rows_.begin(), rows_.end(),
                   [](const Row& a, const Row& b) { return a.fit.score > b.fit.score; });
  endResetModel();
}

int CommandList::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

QVariant CommandList::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const Row& row = rows_[static_cast<std::size_t>(index.row())];
  const Command& command = commands_[row.command];
  switch (role) {
    case Qt::DisplayRole:
      return command.name;
    case Qt::AccessibleTextRole: {
      QStringList parts{command.name};
      if (!command.path.isEmpty()) parts << command.path;
      if (!command.key.isEmpty()) parts << command.key;
      if (command.checked) parts << tr("chosen");
      if (!command.enabled) parts << tr("not available now");
      return parts.join(QStringLiteral(", "));
    }
    case kPathRole:
      return command.path;
    case kKeyRole:
      return command.key;
    case kCheckedRole:
      return command.checked;
    case kEnabledRole:
      return command.enabled;
    case kFitRole:
      return QVariant::fromValue(row.fit.at);
    case kIndexRole:
      return static_cast<int>(row.command);
    default:
      return {};
  }
}

}  // namespace highwater::models
