import claude from "./claude.cjs";

export const { openStore, SessionStore } = claude;
export default claude;
