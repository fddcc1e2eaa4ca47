import { expect, test } from "vitest";
import { EventReader } from "./sse";

const text =
  "retry: 1000\n: andon\nid: f-1\n\nid: f-2\nevent: state\ndata: {\"device\":\"a\"}\n\n" +
  "event: reset\ndata: one\ndata: two\n\n: andon\nid: f-3\n\n";

const want = [
  { type: "", data: "", id: "f-1" },
  { type: "state", data: '{"device":"a"}', id: "f-2" },
  { type: "reset", data: "one\ntwo", id: "f-2" },
  { type: "", data: "", id: "f-3" },
];

test("reads events and the positions that comments carry", () => {
  expect(new EventReader().read(text)).toEqual(want);
});

test("reads the same wherever the text is cut", () => {
  for (let cut = 0; cut <= text.length; cut++) {
    const reader = new EventReader();
    expect([...reader.read(text.slice(0, cut)), ...reader.read(text.slice(cut))]).toEqual(want);
  }
});

test("reads every kind of line break, also one that is cut in two", () => {
  const windows = text.replaceAll("\n", "\r\n");
  for (let cut = 0; cut <= windows.length; cut++) {
    const reader = new EventReader();
    expect([...reader.read(windows.slice(0, cut)), ...reader.read(windows.slice(cut))]).toEqual(want);
  }
});

test("does not give an event that the connection cut off", () => {
  expect(new EventReader().read("event: state\ndata: {}\n")).toEqual([]);
});
