#include "core/activity.h"

#include <cstdint>

#include "core/objc_macos.h"

namespace highwater {
namespace {

// NSActivityOptions in Foundation's NSProcessInfo.h.
constexpr std::uint64_t kIdleSystemSleepDisabled = std::uint64_t{1} << 20;
constexpr std::uint64_t kUserInitiated = 0x00FFFFFF | kIdleSystemSleepDisabled;

}  // namespace

Activity::Activity(const char* reason) {
  const objc::AutoreleasePool pool;
  const id info = objc::processInfo();
  const id text = objc::send<id>(objc::classNamed("NSString"), "stringWithUTF8String:", reason);
  if (!text || !objc::responds(info, "beginActivityWithOptions:reason:")) return;
  const id token = objc::send<id>(info, "beginActivityWithOptions:reason:", kUserInitiated, text);
  // The token comes autoreleased. If it were freed, the activity would end.
  if (token) token_ = objc::send<id>(token, "retain");
}

Activity::~Activity() {
  if (!token_) return;
  const objc::AutoreleasePool pool;
  const id token = static_cast<id>(token_);
  objc::send<void>(objc::processInfo(), "endActivity:", token);
  objc::send<void>(token, "release");
}

}  // namespace highwater
