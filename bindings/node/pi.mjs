import pi from "./pi.cjs";

export const {
	SessionManager,
	onStore,
	CURRENT_SESSION_VERSION,
	assertValidSessionId,
	buildContextEntries,
	buildSessionContext,
	buildSessionProjection,
	findMostRecentSession,
	getDefaultSessionDir,
	getLatestCompactionEntry,
	migrateSessionEntries,
	parseSessionEntries,
	projectContextEntry,
	sessionEntryToContextMessages,
} = pi;
