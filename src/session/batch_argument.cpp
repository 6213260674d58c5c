#include "session/batch_argument.h"

#include <QRegularExpression>
#include <optional>

#include "session/shell_words.h"

namespace highwater::session {
namespace {

/// "--batch-size", "-b", "per_device_train_batch_size", "train.batch_size" of Hydra.
bool isOfBatch(const QString& name) {
  static const QRegularExpression words(
      QStringLiteral("batch[-_]?size$|^-b$|^-{0,2}bsz?$|^-{0,2}batch$"),
      QRegularExpression::CaseInsensitiveOption);
  static const QRegularExpression others(QStringLiteral("eval|val|test"),
                                         QRegularExpression::CaseInsensitiveOption);
  return words.match(name).hasMatch() && !others.match(name).hasMatch();
}

/// The command with the other value; nullopt unless one argument alone sets it.
std::optional<QStringList> changedCommand(const BatchArgument& change) {
  const QString before = QString::number(change.from), after = QString::number(change.to);
  std::optional<QStringList> changed;
  for (qsizetype i = 1; i < change.command.size(); ++i) {
    const QString& word = change.command[i];
    const qsizetype equals = word.indexOf(u'=');
    QStringList words = change.command;
    if (equals > 0 && word.mid(equals + 1) == before && isOfBatch(word.left(equals))) {
      words[i] = word.left(equals + 1) + after;
    } else if (word == before && i > 1 && isOfBatch(change.command[i - 1])) {
      words[i] = after;
    } else {
      continue;
    }
    if (changed) return std::nullopt;
    changed = words;
  }
  return changed;
}

}  // namespace

std::string batchArgumentText(const BatchArgument& change) {
  if (const auto changed = changedCommand(change)) return quoteShellWords(*changed).toStdString();
  const std::string value = std::to_string(change.to);
  if (!change.declaredAt.empty()) return change.knob + " = " + value + " in " + change.declaredAt;
  return "batch_size=" + value + " of the DataLoader";
}

}  // namespace highwater::session
