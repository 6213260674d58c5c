#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "core/messages.h"

/// The format of a recording: a SQLite file. The table `batches` is the recording. The other tables
/// are made from it for people who read the file with other tools; Highwater never reads them back.
namespace highwater::store {

/// The number that marks a SQLite file as a recording: "HWRC" in the field application_id of the
/// file's header. The command `file` can show it.
inline constexpr std::int32_t kApplicationId = 0x48575243;
/// The version of the recording format that this program writes. A reader opens every version up to
/// its own. It rises when an older reader would misread a newer file.
inline constexpr std::int32_t kFormatVersion = 9;
/// The first format with notes of the user. Format 6 added markers of more knobs, format 7 machine
/// samples, format 8 host samples, format 9 the work of ops.
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

/// SQL of the table `summaries`: statistics of each batch, which nothing reads. Only files of
/// formats 1 and 2 have this table.
inline constexpr const char* kCreateSummaries =
    "CREATE TABLE summaries (batch_id INTEGER NOT NULL, series TEXT NOT NULL, min REAL, max REAL, "
    "last REAL, PRIMARY KEY (batch_id, series)) WITHOUT ROWID";

/// SQL of the table `run`: facts about the run as text, by key. For other tools; Highwater reads
/// only the keys below, and "ended".
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
/// SQL of the table `steps`: one row per training step. For other tools; Highwater does not read
/// it.
inline constexpr const char* kCreateSteps =
    "CREATE TABLE steps (step INTEGER PRIMARY KEY, begin_ms REAL, duration_ms REAL, device_ms REAL,"
    " batch_size INTEGER, sequence_length INTEGER, tokens INTEGER, loss REAL,"
    " peak_current_bytes INTEGER, peak_current_exact INTEGER, peak_driver_bytes INTEGER)";
/// SQL of the table `markers`: changes and incidents of the run. For other tools; Highwater does
/// not read it.
inline constexpr const char* kCreateMarkers =
    "CREATE TABLE markers (time_ms REAL, step INTEGER, kind TEXT, value_before REAL,"
    " value_after REAL, text TEXT)";
/// SQL of the table `fallbacks`: ops that ran on the CPU because the device has no kernel for them.
/// For other tools; Highwater does not read it.
inline constexpr const char* kCreateFallbacks =
    "CREATE TABLE fallbacks (begin_ms REAL, duration_ms REAL, wait_ms REAL, step INTEGER,"
    " phase TEXT, op TEXT, module TEXT, call_site TEXT, bytes_to_cpu INTEGER,"
    " bytes_to_device INTEGER)";
/// SQL of the table `sync_points`: places where the host waited for the device. For other tools;
/// Highwater does not read it.
inline constexpr const char* kCreateSyncPoints =
    "CREATE TABLE sync_points (begin_ms REAL, duration_ms REAL, step INTEGER, phase TEXT,"
    " kind TEXT, deliberate INTEGER, op TEXT, module TEXT, call_site TEXT, bytes INTEGER)";
/// SQL of the table `host_samples`: the lines that a script's training ran at some 25 moments a
/// second, while it waited for nothing. `text` is the line itself. For other tools; Highwater does
/// not read it.
inline constexpr const char* kCreateHostSamples =
    "CREATE TABLE host_samples (time_ms REAL, step INTEGER, phase TEXT, call_site TEXT, text TEXT)";
/// SQL of the table `phase_memory`: memory of each phase of each step, in bytes. For other tools;
/// Highwater does not read it.
inline constexpr const char* kCreatePhaseMemory =
    "CREATE TABLE phase_memory (step INTEGER, phase TEXT, peak_current_bytes INTEGER,"
    " peak_reserved_bytes INTEGER, current_bytes INTEGER)";
/// SQL of the table `accepted_fallbacks`: one row per op that the user allowed to run on the CPU. A
/// withdrawal has `accepted` 0 and no reason. For other tools; Highwater does not read it.
inline constexpr const char* kCreateAcceptedFallbacks =
    "CREATE TABLE accepted_fallbacks (op TEXT PRIMARY KEY, accepted INTEGER, reason TEXT,"
    " unix_time_ns INTEGER) WITHOUT ROWID";

/// SQL of the table `checksums`: an FNV-1a checksum of each table that is made for other tools.
/// Empty until the recording is closed. See store/checksums.h.
inline constexpr const char* kCreateChecksums =
    "CREATE TABLE checksums (name TEXT PRIMARY KEY, fnv1a TEXT) WITHOUT ROWID";

/// A table of a recording: the SQL that creates it, and the versions of the file format that have
/// it.
struct TableFormat {
  const char* name;
  const char* create;
  std::int32_t since;                   ///< the first format that has it
  std::int32_t until = kFormatVersion;  ///< the last format that has it
  bool laterInOlder = false;            ///< appendAcceptance() adds it to files of older formats
  bool forPeople = true;                ///< has a row in `checksums`
};

/// All tables of a recording, in all versions of the format.
inline constexpr TableFormat kTables[] = {
    {.name = "batches", .create = kCreateBatches, .since = 1, .forPeople = false},
    {.name = "summaries", .create = kCreateSummaries, .since = 1, .until = 2, .forPeople = false},
    {.name = "run", .create = kCreateRun, .since = 1},
    {.name = "steps", .create = kCreateSteps, .since = 1},
    {.name = "markers", .create = kCreateMarkers, .since = 1},
    {.name = "fallbacks", .create = kCreateFallbacks, .since = 1},
    {.name = "sync_points", .create = kCreateSyncPoints, .since = 1},
    {.name = "host_samples", .create = kCreateHostSamples, .since = 8},
    {.name = "phase_memory", .create = kCreatePhaseMemory, .since = 2},
    {.name = "accepted_fallbacks",
     .create = kCreateAcceptedFallbacks,
     .since = 2,
     .laterInOlder = true},
    {.name = "checksums", .create = kCreateChecksums, .since = 3, .forPeople = false},
};

}  // namespace highwater::store
