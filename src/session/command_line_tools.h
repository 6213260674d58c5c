#pragma once

namespace highwater::session {

/// True on a Mac without Apple's command line tools, where programs in /usr/bin such as python3 and
/// clang++ are stubs that open a dialog, which offers to install them. Asks another program.
[[nodiscard]] bool lacksCommandLineTools();

}  // namespace highwater::session
