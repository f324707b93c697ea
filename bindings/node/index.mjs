import grove from "./index.cjs";

export const {
	open, session, create, recent, list, search, usage, watch, find, remove, copy, initStore, Grove, Session, GroveError,
	version,
} = grove;
export default grove;
