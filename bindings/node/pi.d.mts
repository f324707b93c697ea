export * from "./pi.js";
