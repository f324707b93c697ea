export * from "./index.js";
import * as grove from "./index.js";
export default grove;
