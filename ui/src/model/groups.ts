/** A group with the devices that are in it or below it now. */
export interface Group {
  group: string;
  devices: number;
  states: Record<string, number>;
  silent: number;
}

/** Of groups those directly below one; "": at the top. */
export function childrenOf(groups: Group[], of: string): Group[] {
  const prefix = of === "" ? "" : of + "/";
  return groups.filter((g) => g.group !== of && g.group.startsWith(prefix) && !g.group.slice(prefix.length).includes("/"));
}
