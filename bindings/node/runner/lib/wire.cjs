"use strict";
/** The words of the IPC protocol: versions, limits, and events as bytes. */

/** What `ready` announces (IPC protocol §9). */
const PROTOCOL_VERSION = "0.1";
/** The longest line either side accepts, in bytes. */
const MAX_LINE = 16 * 1024 * 1024;
/** Characters of `argsPreview` (§4.3), `resultPreview` (§4.5) and an error's `message` (§4.10). */
const ARGS_PREVIEW = 200;
const RESULT_PREVIEW = 500;
const ERROR_MESSAGE = 200;
/** How long a string may be, in characters, in an event that would not fit a line otherwise. */
const SHORTENED = 64 * 1024;

/**
 * `text` in at most `limit` characters.
 * @param {string} text
 * @param {number} limit
 */
function clip(text, limit) {
  const characters = text.length <= limit ? [] : [...text];
  return characters.length <= limit ? text : `${characters.slice(0, limit - 1).join("")}…`;
}

/**
 * A tool's arguments for people: `path=a.txt, count=3`.
 * @param {Record<string, unknown>} args
 */
function argsPreview(args) {
  return clip(
    Object.entries(args)
      .map(([name, value]) => `${name}=${asText(value)}`)
      .join(", "),
    ARGS_PREVIEW,
  );
}

/**
 * A tool's result as text: strings as they are, everything else as JSON.
 * @param {unknown} value
 */
function asText(value) {
  return typeof value === "string" ? value : (json(value) ?? "");
}

/**
 * `event` as one line, with its newline. Values that JSON has no word for become their text, and the
 * long strings of an event beyond `MAX_LINE` are cut: an event is always written.
 * @param {Record<string, unknown>} event
 */
function encode(event) {
  const line = Buffer.from(`${json(event)}\n`);
  return line.length <= MAX_LINE ? line : Buffer.from(`${json(event, SHORTENED)}\n`);
}

/**
 * `value` as JSON. What contains itself becomes text.
 * @param {unknown} value
 * @param {number} [limit] of every string
 * @returns {string | undefined}
 */
function json(value, limit = Infinity) {
  /** @type {unknown[]} */
  const open = [];
  return JSON.stringify(
    value,
    /** @this {unknown} */
    function (_name, item) {
      while (open.length && open[open.length - 1] !== this) open.pop();
      if (typeof item === "string") return clip(item.replace(/\p{Surrogate}/gu, "\ufffd"), limit);
      if (typeof item === "bigint") return item.toString();
      if (typeof item !== "object" || item === null) return item;
      if (open.includes(item)) return "<circular>";
      open.push(item);
      return item;
    },
  );
}

/**
 * Whether a message is a `/btw` question: the word alone, or followed by a space or a tab.
 * @param {string} text
 */
function isSideQuestion(text) {
  return /^\s*\/btw(?:[ \t]|$(?!\n))/.test(text);
}

module.exports = {
  ERROR_MESSAGE,
  MAX_LINE,
  PROTOCOL_VERSION,
  RESULT_PREVIEW,
  argsPreview,
  asText,
  clip,
  encode,
  isSideQuestion,
};
