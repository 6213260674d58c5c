#pragma once

#include <cstddef>
#include <cstdint>

/// The form of a recording: a SQLite file. `batches` is the recording; every other table is made
/// from it, for overviews and for people, and is never read back.
namespace highwater::store {

/// "HWRC", in the file's header where `file` and SQLite look for it.
inline constexpr std::int32_t kApplicationId = 0x48575243;
/// Raised when an older reader could misread a newer file. Readers take every version up to theirs.
inline constexpr std::int32_t kFormatVersion = 2;

/// A frame's limits, its four bytes of prefix included; those of the wire.
inline constexpr std::size_t kMinFrameBytes = 12;
inline constexpr std::size_t kMaxFrameBytes = 4u << 20;
/// The writer closes a batch once it has this much; a reader refuses to unpack more than the
/// maximum.
inline constexpr std::size_t kFullBatchBytes = 4u << 20;
inline constexpr std::size_t kMaxBatchBytes = 64u << 20;

/// Frames as they came, one after the other (each begins with its own size), as one zstd frame with
/// its content size and checksum. `kinds`: bit k for events of EventKind k, bit 16 + i for messages
/// of the alternative i of Message. Times are null where no event has one.
inline constexpr const char* kCreateBatches =
    "CREATE TABLE batches (id INTEGER PRIMARY KEY, first_ns INTEGER, last_ns INTEGER, "
    "kinds INTEGER NOT NULL, frames INTEGER NOT NULL, raw_bytes INTEGER NOT NULL, "
    "data BLOB NOT NULL)";

/// Series: current_bytes, driver_bytes, recommended_bytes, footprint_bytes, step_ms, tokens_per_s;
/// and per lane phases_busy, sync_busy, fallback_busy: the share (0..1) of the time that the batch
/// completes.
inline constexpr const char* kCreateSummaries =
    "CREATE TABLE summaries (batch_id INTEGER NOT NULL, series TEXT NOT NULL, min REAL, max REAL, "
    "last REAL, PRIMARY KEY (batch_id, series)) WITHOUT ROWID";

/// The tables for people.
inline constexpr const char* kCreateRun =
    "CREATE TABLE run (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID";
inline constexpr const char* kCreateSteps =
    "CREATE TABLE steps (step INTEGER PRIMARY KEY, begin_ms REAL, duration_ms REAL, device_ms REAL,"
    " batch_size INTEGER, sequence_length INTEGER, tokens INTEGER, loss REAL,"
    " peak_current_bytes INTEGER, peak_current_exact INTEGER, peak_driver_bytes INTEGER)";
inline constexpr const char* kCreateMarkers =
    "CREATE TABLE markers (time_ms REAL, step INTEGER, kind TEXT, value_before REAL,"
    " value_after REAL, text TEXT)";
inline constexpr const char* kCreateFallbacks =
    "CREATE TABLE fallbacks (begin_ms REAL, duration_ms REAL, wait_ms REAL, step INTEGER,"
    " phase TEXT, op TEXT, module TEXT, call_site TEXT, bytes_to_cpu INTEGER,"
    " bytes_to_device INTEGER)";
inline constexpr const char* kCreateSyncPoints =
    "CREATE TABLE sync_points (begin_ms REAL, duration_ms REAL, step INTEGER, phase TEXT,"
    " kind TEXT, deliberate INTEGER, op TEXT, module TEXT, call_site TEXT, bytes INTEGER)";
inline constexpr const char* kCreatePhaseMemory =
    "CREATE TABLE phase_memory (step INTEGER, phase TEXT, peak_current_bytes INTEGER,"
    " peak_reserved_bytes INTEGER, current_bytes INTEGER)";
/// A row an op, with the last word on it; accepted 0: withdrawn, and then without a reason.
inline constexpr const char* kCreateAcceptedFallbacks =
    "CREATE TABLE accepted_fallbacks (op TEXT PRIMARY KEY, accepted INTEGER, reason TEXT,"
    " unix_time_ns INTEGER) WITHOUT ROWID";

struct TableFormat {
  const char* name;
  const char* create;
  std::int32_t since;  ///< the first format that has it
  bool laterInOlder;   ///< a file of an older format may have got it since
};

inline constexpr TableFormat kTables[] = {
    {"batches", kCreateBatches, 1, false},
    {"summaries", kCreateSummaries, 1, false},
    {"run", kCreateRun, 1, false},
    {"steps", kCreateSteps, 1, false},
    {"markers", kCreateMarkers, 1, false},
    {"fallbacks", kCreateFallbacks, 1, false},
    {"sync_points", kCreateSyncPoints, 1, false},
    {"phase_memory", kCreatePhaseMemory, 2, false},
    {"accepted_fallbacks", kCreateAcceptedFallbacks, 2, true},
};

}  // namespace highwater::store
