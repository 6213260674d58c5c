#pragma once

#include <QJsonValue>
#include <QString>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/units.h"

/// How the parts of the report write single values.
namespace highwater::app {

inline QJsonValue text(std::string_view value) {
  return QString::fromUtf8(value.data(), static_cast<qsizetype>(value.size()));
}

inline QJsonValue integer(std::uint64_t value) {
  return static_cast<qint64>(value);
}

/// JSON knows neither NaN nor infinity.
inline QJsonValue real(double value) {
  return std::isfinite(value) ? QJsonValue(value) : QJsonValue();
}

inline QJsonValue orNull(const std::optional<double>& value) {
  return value ? real(*value) : QJsonValue();
}

inline std::string msText(double ms) {
  return formatDuration(static_cast<std::int64_t>(ms * kNsPerMs));
}

}  // namespace highwater::app
