#pragma once

#include <QJsonValue>
#include <string>

#include "core/plain_text.h"

namespace highwater::cli {

/// The text of a value in the worker's answer, safe for a terminal.
[[nodiscard]] inline std::string valueText(const QJsonValue& value) {
  return plainText(value.toString().toStdString());
}

}  // namespace highwater::cli
