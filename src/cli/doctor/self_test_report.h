#pragma once

#include <QJsonObject>
#include <string>

namespace highwater::cli {

/// The result of a self-test as text: a table of the checks, then details of those that did not
/// pass. `report` is the object that `highwater doctor --selftest --json` writes.
[[nodiscard]] std::string selfTestText(const QJsonObject& report);

}  // namespace highwater::cli
