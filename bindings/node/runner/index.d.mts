/** Write an agent for Galley as a function; see `run`. */

export * from "./index.cjs";
