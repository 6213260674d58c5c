#pragma once

#include <objc/runtime.h>

extern "C" void objc_msgSend(void);
