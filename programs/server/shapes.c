/*
 * shapes.c: the objects in replies and events, by name.
 *
 * The OpenAPI document lists them as schemas. The viewer's types are made from it, and
 * tests/server compares real replies with it.
 */
#include "route.h"

#include <stddef.h>

#define SUM "input:i output:i cacheRead:i cacheWrite:i totalTokens:i cost:n0 estimated?:n"
#define COLUMNS "n:i seq:[i] id:[s0] parent:[i] kind:s role:s flags:[i] bytes:[i] time:[i] labels:{s} parentId?:{s0}"
#define STATE "rev:i generation:i"

const struct shape shapes[] = {
	/* a conflict tells the newest entries, an append which one was refused, an ambiguous id what it may be */
	{ "Error", "error:ErrorDetail rev?:i entries?:[NewEntry] failed?:i candidates?:[Candidate]" },
	{ "ErrorDetail", "code:s message:s offset?:i" },
	{ "NewEntry", "id:s0 seq:i kind:s role:s0 time:s0" },
	{ "Candidate", "key:s store:s path:s0 cwd:s agent:s" },

	{ "Agent", "agent:s resume:s0" },
	{ "Store", "store:s provider:s writable:b" },
	{ "Limits", "page:i text:i ids:i body:i" },

	{ "Live", "agent:s0 since:s0" },
	{ "Damage", "malformed:i torn:b" },
	{ "ListItem", "id:s key:s path?:s dialect:s agent:s store:s cwd?:s name?:s0 parentSession?:s created:s0 modified:s0 "
		      "expires?:s0 messageCount?:i firstMessage:s size:i writable:b archived?:b depth?:i agentId:s0 "
		      "live:Live0 damaged?:Damage tokens?:i cost?:n estimated?:n leaf?:s0 entries?:i branches?:i "
		      "compactions?:i malformed?:i torn?:b labels?:[s]" },
	{ "Facets", "project?:{i} agent?:{i} store?:{i} view?:{i}" },

	{ "Session", SESSION_RECORD },
	{ "SnapshotSession", "id:s provider:s store:s dialect:s agent:s agentId:s0 cwd:s0 name:s0 rootEntryId:s0 "
			     "leafEntryId:s0 parentSession:s0 createdAt:s0 updatedAt:s0 entryCount:i seq:i " STATE },
	{ "Subagents", "projectionByEntryId:{Projection} processEventsByEntryId:{*} evidenceSummariesByEntryId:{*} "
		       "toolRuntimeRoutesByEntryId:{*} subagentRuntimeByBatchId:{Projection} "
		       "toolRuntimeRoutesByBatchId:{*}" },
	{ "Projection", "batchId:* status:* workers:[Worker] diagnostics:Diagnostics" },
	{ "Worker", "taskId:* agent:* status:* summary:* events:* evidence:* toolRoutes:*" },
	{ "Diagnostics", "selectedSource:s inputSources:[s] fallbackUsed:b" },

	{ "StoredEntry", "seq:i entry:*" },
	{ "ContextPart", "part:s tokens:i bytes:i count:i" },
	{ "ContextWindow", "used:i limit:i0 source:usage|estimate" },
	{ "ContextRun", "from:i to:i included:b reason:s count:i" },
	{ "LeafReason", "rule:s entryId:s0" },
	{ "DiffSide", "leaf:s0 entries:i cost:n0 estimated?:n tokens:i seq:[[i]] files:[DiffFile]" },
	{ "DiffFile", "path:s added:i removed:i edits:i" },
	{ "Opener", "agent:s0 pid:i" },
	{ "Subagent", "agentId:s name:s0 type:s0 group:s0 toolUseId:s0 parentId:s0 transcript:b entries:i0 status:s0" },
	{ "Problem", "path:s0 line:i offset:i kind:s entryId?:s detail:s0 fixable:b" },

	{ "Hit", "sessionId:s path:s0 entryId:s0 role:s snippet:s marks:[[i]] time:s0 onActivePath:b inContext:b score:n "
		 "match:message|session|some missing?:[s] copies:i session?:HitSession" },
	{ "SearchGroup", "session:HitSession hits:[Hit] more:i" },
	{ "HitSession", "id:s path:s0 name?:s cwd:s0 agent:s0 store:s0 modified:s0" },
	{ "HitInside", "entryId:s0 seq?:i role:s snippet:s marks:[[i]] time:s0 onActivePath:b inContext:b" },
	{ "SearchIndex", "state:ready|building behind:i" },

	{ "UsageSum", SUM },
	{ "UsageRow", "key:s until?:s0 stack?:{UsageSum} " SUM },
	{ "Unpriced", "model:s replies:i totalTokens:i" },

	{ "AppendEvent", "key:s leafEntryId:s0 " STATE " " COLUMNS },
	{ "EntryEvent", "key:s entryId:s0 " STATE },
	{ "LabelEvent", "key:s entryId:s text:s0 " STATE },
	{ "NameEvent", "key:s session?:NameNow " STATE },
	{ "NameNow", "name:s0" },
	{ "ResetEvent", "key:s " STATE },
	{ "RemoveEvent", "key:s rev:i0 generation?:i" },
	{ "LiveEvent", "key:s0 live:Live0" },
	{ "ListEvent", "key:s0 change:s" },
	{ "ByeEvent", "reason:slow|stop" },
};
const size_t nr_shapes = sizeof(shapes) / sizeof(shapes[0]);

/* What each kind of event in a stream carries. */
const struct shape event_shapes[] = {
	{ "append", "AppendEvent" }, { "update", "EntryEvent" }, { "leaf", "EntryEvent" },  { "label", "LabelEvent" },
	{ "meta", "NameEvent" },     { "reset", "ResetEvent" },  { "remove", "RemoveEvent" }, { "live", "LiveEvent" },
	{ "sessions", "ListEvent" }, { "bye", "ByeEvent" },
};
const size_t nr_event_shapes = sizeof(event_shapes) / sizeof(event_shapes[0]);
