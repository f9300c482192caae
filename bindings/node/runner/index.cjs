"use strict";
/** Write an agent for Galley as a function; see `run`. */

const { Aborted, AgentError } = require("./lib/errors.cjs");
const { Outcome, Question } = require("./lib/replies.cjs");
const { run } = require("./lib/server.cjs");

module.exports = { Aborted, AgentError, Outcome, Question, run };
