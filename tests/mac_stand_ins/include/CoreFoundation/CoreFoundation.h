// The declarations that the cross build uses too, without the constant strings that only compilers
// for macOS make.
#pragma once
#include "packaging/macos/cross/include/CoreFoundation.h"

#undef CFSTR
#define CFSTR(s) (standInString("" s ""))

CFStringRef standInString(const char* text);
