#pragma once

#include <QString>

namespace highwater::views {

/// Two sizes in bytes for people: one number where both read the same, else "13.2 to 46.8 MiB".
/// What is below 0 counts as 0.
[[nodiscard]] QString boundsText(double lower, double upper);

}  // namespace highwater::views
