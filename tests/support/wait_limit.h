#pragma once

namespace highwater::test {

/// The limit in ms of a wait for a condition, that of QTRY_VERIFY and QTRY_COMPARE too: only a
/// fault reaches it, also beside other tests on a busy machine.
inline constexpr int kWaitMs = 120'000;

}  // namespace highwater::test
