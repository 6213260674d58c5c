#pragma once

#include <string>
#include <vector>

#include "probe/call_sites/call_sites.h"

/// The Python interpreter of this process, found by name: the library is built without Python's
/// headers and works with any version from 3.10 on.
namespace highwater::python {

/// Sets the folders of libraries: a frame in one of them, or in a file "<...>", is not the user's.
/// Call before ops run.
void setLibraryFolders(std::vector<std::string> folders);

/// Returns the call site of the calling thread's Python code: the user's innermost frame, with the
/// innermost library frame that it has called, and the frames that called it. kNoId for a thread
/// without Python frames, or while the interpreter ends. Takes the GIL.
[[nodiscard]] CallSiteId pythonCallSite(probe::CallSites& sites) noexcept;

/// Has Python call `call(nullptr)` on its main thread, with the GIL, between two bytecodes: soon
/// where it runs Python code, else at the end of the call into C that it is in. `call` must return
/// 0. Returns false where that is not possible, as while the interpreter ends. Any thread; takes no
/// lock that Python code may hold.
[[nodiscard]] bool callOnMainThread(int (*call)(void*)) noexcept;
/// Whether the main thread notices callOnMainThread() of another thread by itself: since Python
/// 3.13. Before, it looks only after it has waited for the GIL.
[[nodiscard]] bool noticesCalls();
/// Takes the GIL and gives it back: within Python's switch interval of 5 ms, or once a call into C
/// gives it up. Runs no Python code. Where the interpreter ends meanwhile, Python ends the calling
/// thread, by unwinding it, or lets it wait for ever.
void passGil();

/// Returns the call site of what the calling thread did until callOnMainThread() had it
/// interrupted: as pythonCallSite(), but that a function which has just begun is not yet there.
/// Each call site has one id. After many thousands they lose the library's frame, and then become
/// kOtherId.
[[nodiscard]] CallSiteId interruptedCallSite(probe::CallSites& sites);

/// Whether the function that runs on this thread is the user's, or a library's that is not
/// PyTorch's; of PyTorch's those that print a tensor or wait for the device do as well. What else
/// of PyTorch reads a value decides by it.
[[nodiscard]] bool mayLeaveOutHere() noexcept;

}  // namespace highwater::python
