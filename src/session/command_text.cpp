#include "session/command_text.h"

#include <QStringList>

namespace highwater::session {
namespace {

QString text(const StartTraining&) {
  return QStringLiteral("start");
}
QString text(const PauseTraining&) {
  return QStringLiteral("pause");
}
QString text(const ResumeTraining&) {
  return QStringLiteral("resume");
}
QString text(const EmptyCache&) {
  return QStringLiteral("empty cache");
}
QString text(const StopTraining&) {
  return QStringLiteral("stop");
}

QString text(const SetKnobs& knobs) {
  QStringList parts;
  if (knobs.batchSize) parts << QStringLiteral("batch size %1").arg(*knobs.batchSize);
  if (knobs.sequenceLength) {
    parts << QStringLiteral("sequence length %1").arg(*knobs.sequenceLength);
  }
  if (knobs.lossEvery) parts << QStringLiteral("loss every %1").arg(*knobs.lossEvery);
  const QString changes = parts.isEmpty() ? QStringLiteral("no change") : parts.join(u", ");
  if (knobs.atStep == 0) return changes;
  return changes + QStringLiteral(" from step %1").arg(knobs.atStep);
}

}  // namespace

QString commandText(const CommandAction& action) {
  return std::visit([](const auto& a) { return text(a); }, action);
}

}  // namespace highwater::session
