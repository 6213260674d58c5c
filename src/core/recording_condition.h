#pragma once

#include <string>
#include <vector>

namespace highwater {

/// What a reader found about a recording's file: whether it is still written, and what is damaged.
struct RecordingCondition {
  bool beingWritten = false;        ///< a running process was writing it when it was opened
  std::vector<std::string> damage;  ///< a sentence for each part that is missing or damaged
};

}  // namespace highwater
