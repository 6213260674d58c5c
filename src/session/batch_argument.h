#pragma once

#include <QStringList>
#include <cstdint>
#include <string>

namespace highwater::session {

/// How the user's own program is told another batch size than the one it was started with.
struct BatchArgument {
  QStringList command;         ///< program and arguments
  std::string knob;            ///< what was turned while it ran
  std::string declaredAt;      ///< where the script declares the knob; empty for a DataLoader's
  std::uint32_t from = 0, to;  ///< values of the knob
};

/// What to change, for people: the command with the argument that has the value, as
/// "python train.py --batch-size 48", where exactly one argument of such a name does; else the
/// knob or the DataLoader, with the value.
[[nodiscard]] std::string batchArgumentText(const BatchArgument& change);

}  // namespace highwater::session
