#pragma once
#include "packaging/macos/cross/include/IOKitLib.h"
