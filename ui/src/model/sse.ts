/** One event of a stream of server-sent events, or a comment, which only carries an id. */
export interface ServerEvent {
  type: string; // "" for a comment
  data: string;
  id: string; // the last one that was sent
}

/**
 * Reads a stream of server-sent events (WHATWG HTML, 9.2). The browser's EventSource hides comments
 * and the status of an answer, and so could not tell a dead connection from a quiet fleet.
 */
export class EventReader {
  private rest = "";
  private type = "";
  private data: string[] = [];
  private comment = false;
  private id: string;

  constructor(id = "") {
    this.id = id;
  }

  /** Takes the next part of the text, and returns the events that are whole now. */
  read(text: string): ServerEvent[] {
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop()!;
    const events: ServerEvent[] = [];
    for (const line of lines) {
      if (line !== "") this.line(line);
      else if (this.type !== "" || this.data.length > 0 || this.comment) events.push(this.finish());
    }
    return events;
  }

  private line(line: string): void {
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "") this.comment = true;
    else if (field === "event") this.type = value;
    else if (field === "data") this.data.push(value);
    else if (field === "id" && !value.includes("\0")) this.id = value;
  }

  private finish(): ServerEvent {
    const has = this.data.length > 0;
    const event = { type: has ? this.type || "message" : "", data: this.data.join("\n"), id: this.id };
    this.type = "";
    this.data = [];
    this.comment = false;
    return event;
  }
}
