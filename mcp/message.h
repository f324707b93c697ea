/*
 * message.h: one message of JSON-RPC 2.0, taken apart.
 *
 * The parts are slices of the message, which must outlive them.
 */
#ifndef MCP_MESSAGE_H
#define MCP_MESSAGE_H

#include <grove.h>

/* The longest name of a method, and the longest revision of the protocol, with NUL. */
#define MESSAGE_METHOD 64
#define MESSAGE_VERSION 32

enum message_kind {
	MESSAGE_REQUEST,
	MESSAGE_NOTIFICATION,
	MESSAGE_RESPONSE,      /* an answer to a question that we never ask */
	MESSAGE_BATCH,         /* an array; its items are messages */
	MESSAGE_INVALID
};

/* The errors of JSON-RPC, and those that the protocol adds. */
enum message_error {
	MESSAGE_EPARSE = -32700,
	MESSAGE_EINVALID = -32600,
	MESSAGE_EMETHOD = -32601,
	MESSAGE_EPARAMS = -32602,
	MESSAGE_EINTERNAL = -32603,
	MESSAGE_ERESOURCE = -32002,  /* until revision 2025-11-25 */
	MESSAGE_EVERSION = -32022    /* from revision 2026-07-28 on */
};

struct message {
	enum message_kind kind;
	struct grove_slice id;          /* as it stands there; empty: there is none */
	char method[MESSAGE_METHOD];    /* a longer one is cut, and so is none that we have */
	struct grove_slice params;      /* an object; empty: there are none */
	/* With the metadata that each request has from 2026-07-28 on: the revision; else "". */
	char version[MESSAGE_VERSION];
	int has_capabilities;           /* … and what the client can do */
	const char *why;                /* MESSAGE_INVALID: what is wrong */
	int error;                      /* … as an error */
};

/*
 * Takes a line apart: first whether it is JSON, then what it says. An item of a batch is
 * known to be JSON.
 */
void message_read(struct grove_slice json, struct message *out);
void message_read_item(struct grove_slice json, struct message *out);

#endif
