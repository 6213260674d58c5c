#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "core/messages.h"

/// The format of a recording: a SQLite file. The table `batches` is the recording. Files of formats
/// before 10 have more tables, which were made from it for other tools and count for nothing.
namespace highwater::store {

/// The number that marks a SQLite file as a recording: "HWRC" in the field application_id of the
/// file's header. The command `file` can show it.
inline constexpr std::int32_t kApplicationId = 0x48575243;
/// The version of the recording format that this program writes. A reader opens every version up to
/// its own. It rises when an older reader would misread a newer file. Format 2 added acceptances of
/// fallbacks, 5 notes, 6 markers of more knobs, 7 machine samples, 8 host samples, 9 the work of
/// ops; format 10 has no tables but those below.
inline constexpr std::int32_t kFormatVersion = 10;
/// The first format with notes of the user.
inline constexpr std::int32_t kFormatOfNotes = 5;

/// The size in bytes, uncompressed, at which the writer ends a batch of frames.
inline constexpr std::size_t kFullBatchBytes = 4u << 20;
/// The largest size of a batch of frames in bytes, uncompressed. A reader refuses a larger one.
inline constexpr std::size_t kMaxBatchBytes = 64u << 20;
/// Limit of the uncompressed size of a recording: kMaxBatchBytes + kMostInflation × the file's
/// size; a reader refuses what is beyond it. Recordings of real runs hold 0.4 to 1.3 times, their
/// batches up to 11: the times of events hardly compress.
inline constexpr std::uint64_t kMostInflation = 100;

/// SQL of the table `batches`, which holds the recording itself. Each row is a batch of frames
/// (encoded messages) in the order of the stream. `data` holds them one after the other, compressed
/// with zstd; each begins with its own size. `kinds`: bit k for events of EventKind k, from 16 on
/// bit 16 + k, and bit 16 + i for messages of the alternative i of Message: see kindBit(). Times
/// are null where no event has one.
inline constexpr const char* kCreateBatches =
    "CREATE TABLE batches (id INTEGER PRIMARY KEY, first_ns INTEGER, last_ns INTEGER, "
    "kinds INTEGER NOT NULL, frames INTEGER NOT NULL, raw_bytes INTEGER NOT NULL, "
    "data BLOB NOT NULL)";

/// The first bit of messages in `kinds`, and the number of EventKinds below it.
inline constexpr unsigned kFirstMessageBit = 16;
/// The bits of messages end here; those of the EventKinds from 16 on follow.
inline constexpr unsigned kLaterKindsBit = 32;
static_assert(std::variant_size_v<Message> <= kLaterKindsBit - kFirstMessageBit);
static_assert(static_cast<unsigned>(events::EventKind::MAX) < kFirstMessageBit + 31);

/// The bit of an EventKind in `kinds`.
[[nodiscard]] constexpr std::uint64_t kindBit(events::EventKind kind) {
  const auto number = static_cast<unsigned>(kind);
  return std::uint64_t{1} << (number < kFirstMessageBit
                                  ? number
                                  : number - kFirstMessageBit + kLaterKindsBit);
}

/// The bit of messages of this kind in `kinds`.
[[nodiscard]] inline std::uint64_t kindBit(const Message& message) {
  return std::uint64_t{1} << (kFirstMessageBit + message.index());
}

/// SQL of the table `run`: values by key. Before format 10 it held facts about the run as well.
inline constexpr const char* kCreateRun =
    "CREATE TABLE run (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID";
/// Key in `run`: the number of rows of `batches`, written in the same transaction as these. Files
/// of format 7 may lack it, those of earlier formats do.
inline constexpr const char* kBatchesKey = "batches";
/// Key in `run`: the number of rows of `batches` at the writer's last checkpoint. The file of a
/// killed run that lacks its WAL ends at such a checkpoint; only where a reader cut the last one
/// short for the first time may it look whole. A file that has rows beyond it got them
/// from the WAL, by another program that read it, and is whole.
inline constexpr const char* kCheckpointedKey = "checkpointed_batches";

}  // namespace highwater::store
