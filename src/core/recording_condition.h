#pragma once

#include <string>
#include <vector>

namespace highwater {

/// What a reader found about a recording's file: whether it is still written, and what is damaged.
struct RecordingCondition {
  bool beingWritten = false;        ///< a running process was writing it when it was opened
  std::vector<std::string> damage;  ///< a sentence for each part that is missing or damaged
  /// The messages end before the recording does: damage.front() is the whole sentence that says
  /// why, with the file's name.
  bool cutOff = false;
};

}  // namespace highwater
