// The modules for agents: their types can be used without the agents' packages.
import { SessionStore } from "grove-sessions/claude";
import * as omp from "grove-sessions/omp";
import { getDefaultSessionDir, onStore } from "grove-sessions/pi";

const store = new SessionStore("sqlite:x.db", { sync: "always" });
await store.append({ projectKey: "p", sessionId: "s" }, [{ uuid: "u" }]);
const loaded: any[] | null = await store.load({ projectKey: "p", sessionId: "s" });
const dir: string = getDefaultSessionDir("/tmp");
console.log(loaded, dir, onStore("sqlite:x.db"), Object.keys(omp));

// @ts-expect-error: a key has a session
await store.load({ projectKey: "p" });
