#include "views/panels/rate_spin.h"

#include <QLocale>
#include <algorithm>
#include <array>
#include <cmath>

#include "core/run_limits.h"

namespace highwater::views {
namespace {

// Enough for three digits of the smallest rate.
constexpr int kDecimals = 12;

constexpr std::array kMantissas = {1.0, 2.0, 5.0};

/// The value of step `index`: 0 is 1, 1 is 2, 2 is 5, 3 is 10, -1 is 0.5.
double stepValue(int index) {
  const int decade = static_cast<int>(std::floor(index / 3.0));
  return kMantissas[static_cast<std::size_t>(index - 3 * decade)] * std::pow(10.0, decade);
}

}  // namespace

RateSpin::RateSpin(QWidget* parent) : QDoubleSpinBox(parent) {
  setLocale(QLocale::c());
  setDecimals(kDecimals);
  setRange(0, kMostLearningRate);
  setSpecialValueText(tr("default"));
}

QString RateSpin::textFromValue(double value) const {
  return QString::number(value, 'g', 6);
}

double RateSpin::valueFromText(const QString& text) const {
  if (text == specialValueText()) return 0;
  return QLocale::c().toDouble(text.trimmed());
}

QValidator::State RateSpin::validate(QString& text, int&) const {
  if (text == specialValueText()) return QValidator::Acceptable;
  bool isNumber = false;
  const double value = QLocale::c().toDouble(text.trimmed(), &isNumber);
  if (isNumber && value >= kLeastLearningRate && value <= kMostLearningRate) {
    return QValidator::Acceptable;
  }
  for (const QChar c : text) {
    if (!QStringLiteral("0123456789.eE-+ ").contains(c)) return QValidator::Invalid;
  }
  return QValidator::Intermediate;
}

void RateSpin::stepBy(int steps) {
  constexpr double kStart = 1e-3;
  const double now = value() > 0 ? value() : kStart;
  const double decades = std::log10(now);
  int index = static_cast<int>(std::floor(decades * 3)) - 3;
  constexpr double kSlack = 1 + 1e-9;
  while (stepValue(index + 1) <= now * kSlack) ++index;
  // Between two steps, down goes to the lower one.
  const bool isBetween = stepValue(index) * kSlack < now;
  index += steps + (steps < 0 && isBetween ? 1 : 0);
  setValue(std::clamp(stepValue(index), kLeastLearningRate, kMostLearningRate));
}

}  // namespace highwater::views
