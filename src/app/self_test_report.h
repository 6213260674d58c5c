#pragma once

#include <QJsonObject>
#include <string>

namespace highwater::app {

/// A self-test for people: a table of its checks, then in full what did not pass. `report` is the
/// object that `highwater doctor --selftest --json` writes.
[[nodiscard]] std::string selfTestText(const QJsonObject& report);

}  // namespace highwater::app
