// The agents' own types take what the package gives.
import { createAgentSession, type SessionManager as Theirs } from "@earendil-works/pi-coding-agent";
import { query, foldSessionSummary, type SessionStore } from "@anthropic-ai/claude-agent-sdk";
import { SessionManager, onStore } from "grove-sessions/pi";
import { openStore } from "grove-sessions/claude";

const manager: Theirs = SessionManager.create("/work");
const inStore: Theirs = onStore("sqlite:sessions.db").create("/work");
void createAgentSession({ sessionManager: manager });
void createAgentSession({ sessionManager: inStore });

const sessionStore: SessionStore = openStore("memory:", { foldSessionSummary });
query({ prompt: "hello", options: { sessionStore } });

// @ts-expect-error: a store is no manager
void createAgentSession({ sessionManager: sessionStore });
