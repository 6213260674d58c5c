#pragma once

#include <cstdint>
#include <string>

#include "core/messages.h"

namespace highwater {

/// What a command asks of the worker: one of the alternatives of Command::action, such as
/// PauseTraining or SetKnobs.
using CommandAction = decltype(Command::action);

/// The answer to one command. It comes from the worker, or from the session if the command could
/// not be sent.
struct CommandAnswer {
  CommandAction command;
  bool accepted = false;
  std::string reason;          ///< why it was refused, for people; empty if accepted
  std::uint32_t fromStep = 0;  ///< the first step it affects; 0 if it is not about a step
};

}  // namespace highwater
