#include "models/command_list.h"

#include <algorithm>

namespace highwater::models {
namespace {

/// What a word of the user scores, by where it stands.
constexpr int kBeginOfName = 200, kWordOfName = 160, kOtherWord = 100, kWordOfPath = 80,
              kInName = 60, kInPath = 20, kLetters = 10;

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
    const qsizetype inName = bestPlace(command.name, word);
    const qsizetype inPath = bestPlace(command.path, word);
    const qsizetype inWords = bestPlace(command.words, word);
    const bool isOther = inWords >= 0 && beginsWord(command.words, inWords);
    const QList<int> found = inName < 0 ? letters(command.name, word) : QList<int>();
    if (inName < 0 && inPath < 0 && !isOther && found.isEmpty()) return std::nullopt;
    const int name = inName == 0                                      ? kBeginOfName
                     : inName > 0 && beginsWord(command.name, inName) ? kWordOfName
                     : inName > 0                                     ? kInName
                     : inPath < 0 && !isOther                         ? kLetters
                                                                      : 0;
    const int path = inPath < 0 ? 0 : beginsWord(command.path, inPath) ? kWordOfPath : kInPath;
    fit.score += std::max({name, path, isOther ? kOtherWord : 0});
    for (qsizetype i = 0; inName >= 0 && i < word.size(); ++i) {
      fit.at << static_cast<int>(inName + i);
    }
    if (inName < 0 && inPath < 0 && !isOther) fit.at << found;
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
  std::stable_sort(rows_.begin(), rows_.end(), [this](const Row& a, const Row& b) {
    if (a.fit.score != b.fit.score) return a.fit.score > b.fit.score;
    // For what was typed, a command that runs now is the better one.
    return a.fit.score > 0 && commands_[a.command].enabled && !commands_[b.command].enabled;
  });
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
