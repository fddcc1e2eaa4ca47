import { expect, test } from "vitest";
import { answersOf } from "./answered";

const at = (hour: number) => new Date(Date.UTC(2026, 3, 24, hour)).toISOString();
const w = { from: Date.parse(at(8)), to: Date.parse(at(18)) };

test("assignments and escalations are in one order of time, with who did it and why", () => {
  const assignments = [
    { operator: null, from: at(16), to: at(18) }, // where the window ends
    { operator: "Liz", from: at(6), to: at(16) },
  ];
  const escalated = [
    {
      time: at(9), state: "WARNING3",
      escalations: [
        { to: null, at: at(12), by: "Sara" },
        { to: "Sara", at: at(10), by: "Liz", note: "for the second time" },
      ],
    },
  ];
  const answers = answersOf(assignments, escalated, w);
  expect(answers.map((a) => `${a.does} ${a.who}`)).toEqual([
    "assigned null", "escalation withdrawn null", "escalated Sara", "assigned Liz",
  ]);
  expect(answers[2]).toMatchObject({ by: "Liz", note: "for the second time", of: { state: "WARNING3" } });
  expect(answers[0].until).toBe(at(18));
  expect(answers[3].until).toBe(at(16));
});

test("an escalation counts when it was made, and not when its entry was", () => {
  const of = (made: number) => [
    { time: at(1), state: "WARNING3", escalations: [{ to: "Sara", at: at(made) }] },
  ];
  expect(answersOf([], of(9), w).length).toBe(1);
  expect(answersOf([], of(7), w)).toEqual([]);
  expect(answersOf([], of(19), w)).toEqual([]);
});
