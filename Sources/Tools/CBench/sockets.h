// Socket functions that the client and the echo server share.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Returns a connected socket with time-outs of ten seconds, or -1 with errno.
int bench_connect(const char *path);

// Sends all bytes; waits while the socket's buffer is full. Returns 0, or -1 with errno.
int bench_send(int descriptor, const uint8_t *bytes, size_t count);

// Sets the address of a socket. Returns 0, or -1 with errno if the path is too long.
struct sockaddr_un;
int bench_address(const char *path, struct sockaddr_un *address);

uint64_t bench_now(void);
