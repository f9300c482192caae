"use strict";
/** What an agent may return besides text. */

class Outcome {
  /** @param {import("../index.cjs").OutcomeFields} [fields] */
  constructor(fields = {}) {
    this.fields = fields;
  }
}

class Question {
  /**
   * @param {string} text
   * @param {readonly string[]} [candidates]
   */
  constructor(text, candidates = []) {
    this.text = text;
    this.candidates = candidates;
  }
}

module.exports = { Outcome, Question };
