#pragma once

#include <QByteArray>
#include <QString>

#include "core/result.h"

namespace highwater::models {

/// Writes a file, which takes the place of an earlier one once it is whole. Fails with kFailed:
/// "PATH cannot be written: REASON".
[[nodiscard]] Result<void> saveFile(const QString& path, const QByteArray& bytes);

}  // namespace highwater::models
