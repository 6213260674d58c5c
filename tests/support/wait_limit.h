#pragma once

namespace highwater::test {

/// The limit in ms of a wait for any one thing: a condition, a command, a start, some steps; that
/// of QTRY_VERIFY and QTRY_COMPARE too. Only a test that hangs reaches it: the longest wait takes
/// some 20 s on two idle cores, and several times that on busy ones.
inline constexpr int kWaitMs = 240'000;

}  // namespace highwater::test
