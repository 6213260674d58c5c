#pragma once

#include <QJsonValue>
#include <QString>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/time_range.h"
#include "core/definition_table.h"
#include "core/units.h"

/// Conversions of single values, for the sources of this folder.
namespace highwater::report {

/// Converts UTF-8 text to a JSON string.
inline QJsonValue text(std::string_view value) {
  return QString::fromUtf8(value.data(), static_cast<qsizetype>(value.size()));
}

/// Converts an integer to JSON; it must fit into 63 bits.
inline QJsonValue integer(std::uint64_t value) {
  return static_cast<qint64>(value);
}

/// Converts a number to JSON; null for NaN and infinity, which JSON does not have.
inline QJsonValue real(double value) {
  return std::isfinite(value) ? QJsonValue(value) : QJsonValue();
}

/// Returns `value`, or JSON's null if it is not known.
inline QJsonValue orNull(bool isKnown, const QJsonValue& value) {
  return isKnown ? value : QJsonValue();
}
/// Converts UTF-8 text to JSON; null if it is empty.
inline QJsonValue textOrNull(std::string_view value) {
  return orNull(!value.empty(), text(value));
}
/// Converts an optional number to JSON; null if it is absent, NaN or infinite.
inline QJsonValue orNull(const std::optional<double>& value) {
  return value ? real(*value) : QJsonValue();
}

/// Appends a number in the shortest form that reads back as it is.
template <typename Number>
void appendNumber(std::string& to, Number value) {
  char digits[40];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  to.append(digits, end);
}

/// Whether an event is in the part of a run that is asked for: all of it where there is no range.
inline bool isAsked(const std::optional<analysis::TimeRange>& range, std::int64_t beginNs,
                    std::int64_t endNs) {
  return !range || analysis::touches(*range, beginNs, endNs);
}

/// A line of code as a text: "train.py:12 (main), in transformers/trainer.py:1911 Trainer.train".
inline std::string siteText(const CallSiteParts& site) {
  std::string text = site.line;
  if (!site.function.empty()) text += text.empty() ? site.function : " (" + site.function + ')';
  return site.library.empty() ? text : text + std::string(kInLibrary) + site.library;
}

}  // namespace highwater::report
