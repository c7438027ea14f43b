/** What goes wrong, by name. */

/** The root of the errors of this module; `partial` is the message that had come, where there is one. */
export class AgentScopeError extends Error {
  name = this.constructor.name;
  partial = null;
}

/** Arguments that cannot be meant. */
export class ConfigurationError extends AgentScopeError {}

/** Data that is no event, message or block; `path` is where, as `$.a[1]`. */
export class WireError extends AgentScopeError {
  constructor(problem, path = "$") {
    super(`${path}: ${problem}`);
    this.problem = problem;
    this.path = path;
  }

  /** The same, one level further out. */
  under(key) {
    const step = typeof key === "number" ? `[${key}]` : `.${key}`;
    return new WireError(this.problem, `$${step}${this.path.slice(1)}`);
  }
}

/** A server that refuses: `status` is that of HTTP, `body` what it said. */
export class RefusedError extends AgentScopeError {
  constructor(status, body) {
    super(`the server refuses with ${status}: ${body.slice(0, 200)}`);
    this.status = status;
    this.body = body;
  }
}
