#pragma once

#include <atomic>

// Counts allocations and, on systems where a program can replace pthread_mutex_lock(), locks, on
// threads that have set `counting`. counted_calls.cpp replaces operator new for the whole program.

#if defined(__linux__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_LOCKS 1
#endif

extern constinit thread_local bool counting;
extern std::atomic<int> allocations;
extern std::atomic<int> locks;
