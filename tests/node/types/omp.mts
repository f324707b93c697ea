// oh-my-pi's own types take what the package gives.
import { IndexedSessionStorage, type SessionStorageBackend as TheirBackend } from "@oh-my-pi/pi-coding-agent/session/indexed-session-storage";
import { SessionWriteConflictError, type SessionStorage as TheirStorage } from "@oh-my-pi/pi-coding-agent/session/session-storage";
import { SessionStorage, SessionStorageBackend } from "grove-sessions/omp";

const backend = new SessionStorageBackend("memory:", { SessionWriteConflictError });
const theirs: TheirBackend = backend;
const indexed: TheirStorage = new IndexedSessionStorage(theirs);
const own: TheirStorage = new SessionStorage(backend);
void [indexed, own];

// @ts-expect-error: a back end is no storage
const none: TheirStorage = backend;
void none;
