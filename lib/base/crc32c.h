/*
 * base/crc32c.h: the Castagnoli checksum, by the CPU's own instruction where
 * there is one.
 */
#ifndef GROVE_BASE_CRC32C_H
#define GROVE_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continue `crc` (0 to start) over `len` bytes. */
uint32_t grove__crc32c(uint32_t crc, const void *ptr, size_t len);

#endif
