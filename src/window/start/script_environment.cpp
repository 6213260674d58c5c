#include "window/start/script_environment.h"

#include <QRegularExpression>

#include "core/sim_knobs.h"
#include "core/units.h"
#include "session/shell_words.h"
#include "window/tr.h"

namespace highwater::window {
namespace {

QString entry(const char* variable, const QString& value) {
  return QLatin1String(variable) + u'=' + value;
}

bool isRatio(const QString& text) {
  constexpr double kHighest = 2;  // PyTorch's own bound
  bool isNumber = false;
  const double value = text.toDouble(&isNumber);
  return isNumber && value >= 0 && value <= kHighest;
}

/// The NAME=VALUE words of the form; none, and a problem, where a word is another.
QStringList otherVariables(const ScriptFields& fields, ScriptProblems& problems) {
  static const QRegularExpression variable(QStringLiteral("^[A-Za-z_][A-Za-z0-9_]*="));
  const auto words = session::splitShellWords(fields.otherVariables);
  if (!words) {
    problems[ScriptField::kOtherVariables] = asNote(words.error());
    return {};
  }
  for (const QString& each : *words) {
    if (variable.match(each).hasMatch()) continue;
    problems[ScriptField::kOtherVariables] = tr("%1 is not of the form NAME=VALUE").arg(each);
    return {};
  }
  return *words;
}

}  // namespace

QStringList scriptEnvironment(const ScriptFields& fields, ScriptProblems& problems) {
  QStringList entries;
  if (!fields.fallback.isEmpty()) entries << entry(kMpsFallbackVariable, fields.fallback);
  const struct {
    ScriptField field;
    const char* variable;
    QString text;
  } ratios[] = {
      {ScriptField::kHighWatermark, kMpsHighWatermarkVariable, fields.highWatermark.trimmed()},
      {ScriptField::kLowWatermark, kMpsLowWatermarkVariable, fields.lowWatermark.trimmed()}};
  for (const auto& [field, variable, text] : ratios) {
    if (text.isEmpty()) continue;
    if (isRatio(text)) {
      entries << entry(variable, text);
    } else {
      problems[field] = tr("A number from 0 (no limit) to 2");
    }
  }
  const QString memory = fields.simulatedMemory.trimmed();
  if (fields.simulated && !memory.isEmpty()) {
    const auto bytes = parseBytes(memory.toStdString(), "the memory");
    if (bytes && *bytes > 0) {
      entries << entry(kSimRecommendedVariable, memory);
    } else {
      problems[ScriptField::kSimulatedMemory] = tr("A size such as 8 GiB");
    }
  }
  return entries + otherVariables(fields, problems);
}

}  // namespace highwater::window
