/*
 * js/base64.h: the kernels of grove__js_base64(), for tests and
 * measurements; the rest of the library needs js.h alone.
 */
#ifndef GROVE_JS_BASE64_H
#define GROVE_JS_BASE64_H

#include "base/slice.h"

#include <stdint.h>

/* A kernel may write this much after what it says it wrote. */
#define GROVE__BASE64_PAD 16

struct grove__base64_kernel {
	const char *name;
	/*
	 * Write letters for whole groups of three bytes, as many as the kernel
	 * likes. Returns the bytes it took.
	 */
	size_t (*encode)(char *out, const uint8_t *in, size_t len);
	/*
	 * Write the bytes of whole groups of four letters of either alphabet,
	 * up to the first group that has anything else in it. Returns the
	 * letters it took.
	 */
	size_t (*decode)(uint8_t *out, const char *in, size_t len);
};

/* The kernels that this CPU can run, the plain one first; NULL after the last. */
const struct grove__base64_kernel *grove__base64_kernel(unsigned i);

/*
 * With a kernel of one's choice. `out` has room for
 * GROVE__BASE64_ENCODED(len), and GROVE__BASE64_DECODED(len). Both return
 * how much they wrote.
 */
#define GROVE__BASE64_ENCODED(len) (((len) + 2) / 3 * 4 + GROVE__BASE64_PAD)
#define GROVE__BASE64_DECODED(len) ((len) / 4 * 3 + 3 + GROVE__BASE64_PAD)
size_t grove__base64_encode(const struct grove__base64_kernel *k, char *out, const void *ptr,
			    size_t len);
size_t grove__base64_decode(const struct grove__base64_kernel *k, void *out, const char *text,
			    size_t len);

#endif
