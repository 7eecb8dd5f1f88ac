// What the client and the echo share.
#pragma once

#include <stddef.h>
#include <stdint.h>

// A connected socket that blocks ten seconds at most, or -1 with errno.
int bench_connect(const char *path);

// All of the bytes, waiting where the socket is full. 0, or -1 with errno.
int bench_send(int descriptor, const uint8_t *bytes, size_t count);

// The socket's address. 0, or -1 with errno: the path is too long.
struct sockaddr_un;
int bench_address(const char *path, struct sockaddr_un *address);

uint64_t bench_now(void);
