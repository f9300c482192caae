/** Write an agent for Galley as a function; see `run`. */

import runner from "./index.cjs";

export const { Aborted, AgentError, Outcome, Question, run } = runner;
