#include "run/note.h"

#include <QString>
#include <algorithm>

#include "core/clock.h"
#include "core/option_values.h"
#include "store/append.h"
#include "wire/codec.h"
#include "wire/limits.h"

namespace highwater::run {

Result<Note> makeNote(std::int64_t timeNs, std::uint32_t step, const std::string& text) {
  // QString trims the spaces of all scripts.
  const std::string trimmed = QString::fromStdString(text).trimmed().toStdString();
  if (trimmed.size() > wire::kMaxTextBytes) {
    return usageError("the note is too long; at most " + std::to_string(wire::kMaxTextBytes) +
                      " bytes");
  }
  Note note;
  note.timeNs = std::clamp<std::int64_t>(timeNs, 0, wire::kMaxRunNs);
  note.step = step;
  note.text = trimmed.empty() ? "Note" : trimmed;
  note.unixTimeNs = unixNs();
  return note;
}

Result<void> appendNote(const std::filesystem::path& recording, const Note& note,
                        const std::optional<RunId>& of) {
  return store::append(recording, wire::encode(note), note, checkOfRun(recording, of));
}

}  // namespace highwater::run
