#pragma once

namespace highwater::test {

/// The limit in ms of a wait for a condition: only a fault reaches it, also beside other tests on
/// a busy machine.
inline constexpr int kWaitMs = 120'000;

}  // namespace highwater::test
