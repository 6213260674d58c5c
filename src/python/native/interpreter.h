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

}  // namespace highwater::python
