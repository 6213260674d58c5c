# macOS arm64 with zig's clang, for packaging/macos/cross-link, which sets HIGHWATER_MAC_WORK and
# HIGHWATER_MAC_TOOLCHAIN.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_VERSION 23.0.0)
set(CMAKE_SYSTEM_PROCESSOR arm64)
# the wrappers say which target and which macOS; there is no Xcode to ask
set(CMAKE_OSX_ARCHITECTURES "" CACHE STRING "")
set(CMAKE_OSX_DEPLOYMENT_TARGET "" CACHE STRING "")
set(CMAKE_OSX_SYSROOT "" CACHE STRING "")

set(work $ENV{HIGHWATER_MAC_WORK})
set(tools $ENV{HIGHWATER_MAC_TOOLCHAIN})
set(multiarch $ENV{HIGHWATER_MAC_MULTIARCH})
set(CMAKE_C_COMPILER ${tools}/bin/cc)
set(CMAKE_CXX_COMPILER ${tools}/bin/c++)
set(CMAKE_AR ${tools}/bin/ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${tools}/bin/ranlib CACHE FILEPATH "")
set(CMAKE_INSTALL_NAME_TOOL ${tools}/bin/install_name_tool CACHE FILEPATH "")

set(CMAKE_FIND_ROOT_PATH ${work}/qt ${work}/torch ${work}/sdk)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_C_FLAGS_INIT "-F${work}/sdk/Frameworks -F${work}/qt/lib")
set(CMAKE_CXX_FLAGS_INIT "-F${work}/sdk/Frameworks -F${work}/qt/lib")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-L${work}/sdk/lib")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-L${work}/sdk/lib")

# Debian's Qt keeps its package files under the multiarch folder
set(CMAKE_LIBRARY_ARCHITECTURE ${multiarch})
set(Qt6_DIR ${work}/qt/lib/${multiarch}/cmake/Qt6 CACHE PATH "")
set(Torch_DIR ${work}/torch/share/cmake/Torch CACHE PATH "")
set(QT_NO_PACKAGE_VERSION_INCOMPATIBLE_WARNING ON)

# this machine's rcc compresses with zstd, which the wheel's Qt cannot read
set(CMAKE_AUTORCC_OPTIONS --no-zstd)
