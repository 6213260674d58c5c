#include "run/restart.h"

#include <QProcessEnvironment>
#include <QStringList>
#include <algorithm>
#include <cmath>
#include <functional>

#include "core/sim_knobs.h"
#include "core/units.h"
#include "run/run.h"
#include "session/worker_process.h"

namespace highwater::run {
namespace {

RestartSettings read(const std::string& device,
                     const std::function<std::optional<std::string>(const char*)>& valueOf) {
  RestartSettings settings;
  settings.device = device;
  const auto number = [&](const char* variable, double standard) {
    const auto text = valueOf(variable);
    const auto parsed = text ? parseNumber(*text) : std::nullopt;
    // As the worker reads it: anything else is ignored.
    return parsed && parsed->value >= 0 && parsed->value <= 2 ? parsed->value : standard;
  };
  settings.fallback = valueOf(kMpsFallbackVariable) && number(kMpsFallbackVariable, 1) != 0;
  settings.highWatermark = number(kMpsHighWatermarkVariable, settings.highWatermark);
  settings.lowWatermark = number(kMpsLowWatermarkVariable, settings.lowWatermark);
  return settings;
}

void setVariable(QStringList& environment, const char* name, const QString& value) {
  const QString prefix = QString::fromUtf8(name) + u'=';
  environment.erase(std::remove_if(environment.begin(), environment.end(),
                                   [&](const QString& entry) { return entry.startsWith(prefix); }),
                    environment.end());
  environment << prefix + value;
}

QString ratioText(double ratio) {
  return QString::number(ratio, 'g', 4);
}

bool differ(double a, double b) {
  return std::abs(a - b) > 1e-9;
}

}  // namespace

RestartSettings restartSettingsOf(const Hello& hello) {
  return read(hello.device.requested, [&](const char* name) -> std::optional<std::string> {
    for (const EnvironmentEntry& entry : hello.environment) {
      if (entry.name == name) return entry.value;
    }
    return std::nullopt;
  });
}

RestartSettings restartSettingsOf(const session::LaunchOptions& options) {
  const QProcessEnvironment environment = session::environmentWith(options.environment);
  return read(options.device, [&](const char* name) -> std::optional<std::string> {
    const QString key = QString::fromUtf8(name);
    if (!environment.contains(key)) return std::nullopt;
    return environment.value(key).toStdString();
  });
}

void putRestartSettings(session::LaunchOptions& options, const RestartSettings& inUse,
                        const RestartSettings& wanted) {
  options.device = wanted.device;
  QStringList& environment = options.environment;
  if (wanted.fallback != inUse.fallback) {
    setVariable(environment, kMpsFallbackVariable, wanted.fallback ? "1" : "0");
  }
  // Both, because PyTorch's default of the low one may be above the new high one, which it refuses.
  if (differ(wanted.highWatermark, inUse.highWatermark) ||
      differ(wanted.lowWatermark, inUse.lowWatermark)) {
    setVariable(environment, kMpsHighWatermarkVariable, ratioText(wanted.highWatermark));
    setVariable(environment, kMpsLowWatermarkVariable, ratioText(wanted.lowWatermark));
  }
}

QString restartText(const RestartSettings& before, const RestartSettings& after) {
  QStringList changes;
  if (after.device != before.device) {
    changes << Run::tr("device %1 → %2")
                   .arg(QString::fromStdString(before.device),
                        QString::fromStdString(after.device));
  }
  if (after.fallback != before.fallback) {
    changes << (after.fallback ? Run::tr("CPU fallback on") : Run::tr("CPU fallback off"));
  }
  const auto ratio = [&](const QString& name, double from, double to) {
    if (differ(from, to))
      changes << Run::tr("%1 %2 → %3").arg(name, ratioText(from), ratioText(to));
  };
  ratio(Run::tr("high watermark"), before.highWatermark, after.highWatermark);
  ratio(Run::tr("low watermark"), before.lowWatermark, after.lowWatermark);
  return changes.join(QStringLiteral(", "));
}

}  // namespace highwater::run
