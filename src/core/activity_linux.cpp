#include "core/activity.h"

namespace highwater {

Activity::Activity(const char* /*reason*/) {}

Activity::~Activity() = default;

}  // namespace highwater
