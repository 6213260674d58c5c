#pragma once

#include <cstddef>
#include <cstdint>

/// Limits that senders keep and the validator enforces. Limits of a frame's size are in
/// core/frame_header.h.
namespace highwater::wire {

/// The version of the protocol between worker and host. A peer with another version is refused. It
/// rises when a peer that knows only the old frames could misread the new ones.
inline constexpr std::uint32_t kProtocolVersion = 1;

/// The longest text in a frame, in bytes of UTF-8. encode() cuts longer ones.
inline constexpr std::size_t kMaxTextBytes = std::size_t{64} << 10;
/// The longest name of a module, thread, op or field of the run's description, in bytes.
inline constexpr std::size_t kMaxNameBytes = 1024;
/// The most signs of a script's code in the description of a run.
inline constexpr std::size_t kMaxCodeSigns = 100;
/// The longest text of a line of the user's code, in bytes.
inline constexpr std::size_t kMaxLineTextBytes = 200;

/// The most text that all definitions of a run may have together, in bytes: names, module paths,
/// and call sites with their callers. A module or call site counts with its parents, because a
/// reader joins them; a long chain of modules would otherwise make gigabytes of a small file. Real
/// runs stay below 20 MB; a run with the largest number of call sites (core/ids.h) at 2 KB each
/// still fits.
inline constexpr std::uint64_t kMaxDefinitionBytes = std::uint64_t{256} << 20;

/// The most newer samples that may come before a sample of the same kind in the stream.
/// The worker sends samples in the order of their times, and the clocks of two cores may disagree
/// by a microsecond, a sample or two. Each later row has to be moved to insert a late one, so the
/// limit is in samples and not in time: without it 100,000 samples in descending order took 93 s.
inline constexpr std::size_t kMaxNewerSamples = 256;

/// The latest plausible time of an event, and the longest duration, in nanoseconds: 366 days.
inline constexpr std::int64_t kMaxRunNs = std::int64_t{366} * 24 * 3600 * 1'000'000'000;
/// The largest plausible amount of memory, in bytes.
inline constexpr std::uint64_t kMaxPlausibleBytes = std::uint64_t{1} << 50;  // 1 PiB
/// The most plausible floating-point operations of an op in a step: a thousand seconds of the
/// fastest GPU.
inline constexpr std::uint64_t kMaxFlops = std::uint64_t{1} << 60;
/// The largest plausible swap traffic of a machine since it was started, in bytes.
inline constexpr std::int64_t kMaxSwapTrafficBytes = std::int64_t{1} << 60;  // 1 EiB
/// The largest plausible batch size, in rows of the data set. Runs have the lower limit
/// kMostBatchSize.
inline constexpr std::uint32_t kMaxBatchSize = 1u << 20;
/// The most knobs of a script, and the most choices of one.
inline constexpr std::size_t kMaxScriptKnobs = 256, kMaxChoices = 256;
/// The most notes of the user in a recording.
inline constexpr std::size_t kMaxNotes = 10'000;
/// The largest plausible sequence length, in tokens.
inline constexpr std::uint32_t kMaxSequenceLength = 1u << 20;

}  // namespace highwater::wire
