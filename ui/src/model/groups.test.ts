import { expect, test } from "vitest";
import { childrenOf } from "./groups";

test("the groups directly below one", () => {
  const groups = ["p", "p-1", "p/h1", "p/h1/l", "p/h2"].map((group) => ({ group, devices: 1, states: {}, silent: 0 }));
  const below = (of: string) => childrenOf(groups, of).map((g) => g.group);
  expect(below("")).toEqual(["p", "p-1"]);
  expect(below("p")).toEqual(["p/h1", "p/h2"]);
  expect(below("p/h1")).toEqual(["p/h1/l"]);
  expect(below("p/h1/l")).toEqual([]);
});
