// One source, several instruction sets: on x86_64 the compiler makes a copy of a function marked
// QW_MULTIVERSION per level and the loader picks the best the machine has; elsewhere the baseline has vectors
// already. Mark functions that hold the loop themselves: a lambda inside is a function of its own.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define QW_MULTIVERSION __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define QW_MULTIVERSION
#endif
