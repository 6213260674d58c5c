#include "views/tuning/bounds_text.h"

#include <QCoreApplication>
#include <algorithm>

#include "models/qt_text.h"

namespace highwater::views {

QString boundsText(double lower, double upper) {
  const QString low = bytesText(std::max(lower, 0.0)), high = bytesText(std::max(upper, 0.0));
  if (low == high) return low;
  const QString unit = high.section(QLatin1Char(' '), -1);
  const bool same = low.endsWith(QLatin1Char(' ') + unit);
  return QCoreApplication::translate("bounds", "%1 to %2")
      .arg(same ? low.section(QLatin1Char(' '), 0, 0) : low, high);
}

}  // namespace highwater::views
