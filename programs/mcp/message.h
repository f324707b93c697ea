/*
 * message.h: parses a JSON-RPC 2.0 message.
 *
 * The parts are slices of the message, which must outlive them.
 */
#ifndef MCP_MESSAGE_H
#define MCP_MESSAGE_H

#include <grove.h>

/* The maximum length of a method name and of a revision, with NUL. */
#define MESSAGE_METHOD 64
#define MESSAGE_VERSION 32

enum message_kind {
	MESSAGE_REQUEST,
	MESSAGE_NOTIFICATION,
	MESSAGE_RESPONSE,      /* a response, although we never send requests */
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
	struct grove_slice id;          /* as received; empty if there is none */
	char method[MESSAGE_METHOD];    /* a longer one is cut, and matches none of ours */
	struct grove_slice params;      /* an object; empty if there is none */
	/* From the metadata of requests since 2026-07-28: the revision, or "". */
	char version[MESSAGE_VERSION];
	int has_capabilities;           /* … and whether it lists the client's capabilities */
	const char *why;                /* for MESSAGE_INVALID: what is wrong */
	int error;                      /* … as an error */
};

/* Parses a line: checks that it is JSON, then reads it. Items of a batch are known to be JSON. */
void message_read(struct grove_slice json, struct message *out);
void message_read_item(struct grove_slice json, struct message *out);

#endif
