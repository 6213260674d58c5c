#include "session/command_text.h"

#include <QStringList>
#include <string_view>

#include "core/knobs.h"
#include "core/names.h"

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
  for (const Knob& knob : allKnobs()) {
    const auto value = knob.requested(knobs);
    if (!value) continue;
    const bool isLoss = knob.kind == events::MarkerKind::LossInterval;
    const std::string name = isLoss ? "loss every" : std::string(knob.name);
    parts << QString::fromStdString(name + ' ' + knobText(knob, *value));
  }
  const QString changes = parts.isEmpty() ? QStringLiteral("no change") : parts.join(u", ");
  if (knobs.atStep == 0) return changes;
  return changes + QStringLiteral(" from step %1").arg(knobs.atStep);
}

/// The words of the marker that the change leaves.
QString levelText(events::ProbeLevel level) {
  switch (level) {
    case events::ProbeLevel::Ops:
      return QStringLiteral("op recording on");
    case events::ProbeLevel::Monitor:
      return QStringLiteral("op recording off");
    case events::ProbeLevel::Off:
      return QStringLiteral("only steps and memory recorded");
    default: {
      const std::string_view key = probeLevelKey(level);
      return QStringLiteral("recording level %1")
          .arg(QString::fromUtf8(key.data(), static_cast<qsizetype>(key.size())));
    }
  }
}

QString text(const SetProbeLevel& change) {
  const QString level = levelText(change.level);
  if (change.steps == 0) return level;
  return QStringLiteral("%1 for %2 steps").arg(level).arg(change.steps);
}

QString text(const SetScriptKnob& change) {
  return QStringLiteral("%1 = %2").arg(QString::fromStdString(change.name)).arg(change.value);
}

QString text(const TryBlock& tries) {
  if (tries.part == TryBlock::Part::kOver) return QStringLiteral("End the try");
  return tries.part == TryBlock::Part::kChanged ? QStringLiteral("Try the change")
                                                : QStringLiteral("Train as before the try");
}

QString text(const SignalProgram& sent) {
  return QStringLiteral("signal %1").arg(sent.signal);
}

}  // namespace

QString commandText(const CommandAction& command) {
  return std::visit([](const auto& c) { return text(c); }, command);
}

QString refusalText(const CommandAnswer& answer) {
  return QStringLiteral("\"%1\" was refused: %2")
      .arg(commandText(answer.command), QString::fromStdString(answer.reason));
}

}  // namespace highwater::session
