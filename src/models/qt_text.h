#pragma once

#include <QString>
#include <cstdint>
#include <string_view>

#include "core/units.h"

/// Values of core as Qt texts, for models, views and the window.
namespace highwater {

/// Converts UTF-8 to a QString.
[[nodiscard]] inline QString text(std::string_view utf8) {
  return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
}

/// Formats a size in bytes with formatBytes(), such as "68.2 MiB". A negative size or NaN counts
/// as 0.
[[nodiscard]] inline QString bytesText(double bytes) {
  return text(formatBytes(wholeBytes(bytes)));
}

/// Puts the sign of a value before `digits`, the text of its size; the minus is U+2212, which is as
/// wide as the plus. Digits that read as zero have no sign.
[[nodiscard]] inline QString signedText(double value, const QString& digits) {
  if (digits.toDouble() == 0) return digits;
  return (value < 0 ? QStringLiteral("\u2212") : QStringLiteral("+")) + digits;
}

/// Formats a share (0 to 1) in percent: "12 %"; with one decimal below 1 %.
[[nodiscard]] inline QString percentText(double share) {
  const bool isSmall = share > 0 && share < 0.01;
  return QStringLiteral("%1 %").arg(share * 100, 0, 'f', isSmall ? 1 : 0);
}

}  // namespace highwater
