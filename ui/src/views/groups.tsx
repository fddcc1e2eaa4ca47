import { useEffect, useMemo } from "preact/hooks";
import type { Device } from "../model/fleet";
import { childrenOf, type Group } from "../model/groups";
import { tenant } from "../net/api";
import { startFleet } from "../state/live";
import { link, query } from "../state/route";
import { DeviceTable } from "./devicetable";
import { countText, defOf, Notice, Panel, StateName } from "./parts";
import { More, usePages } from "./pages";

const groupLink = (group: string) => link("/groups", { group });

/** In the place of a group it stands for the devices that are in none. */
const none = "none";

/** The tree of groups with what is in each, and the devices of one group. */
export function Groups() {
  useEffect(startFleet, [tenant.value]);
  const group = query.value.group ?? "";
  return (
    <main id="main" class="page groups" data-view="groups">
      {group === none ? <InNone /> : <InGroup group={group} />}
    </main>
  );
}

function InNone() {
  return (
    <>
      <h1 tabIndex={-1}>In no group</h1>
      <Above group={none} />
      <Devices group={none} />
    </>
  );
}

function InGroup({ group }: { group: string }) {
  const asked = useMemo(() => ({ under: group || undefined, limit: "1000" }), [group]);
  const tree = usePages<Group>("/groups", asked);
  const here = tree.items.find((g) => g.group === group);
  return (
    <>
      <h1 tabIndex={-1}>{group === "" ? "Groups" : <bdi>{group}</bdi>}</h1>
      {group !== "" && <Above group={group} />}
      {here && <States of={here} />}
      {tree.problem && <Notice kind="error">{tree.problem}</Notice>}
      {tree.items.length === 0 && !tree.problem && (
        <Notice kind={tree.busy ? "loading" : "empty"}>
          {tree.busy ? "Loading the groups…" : "No device is in a group yet: andon group set DEVICE GROUP"}
        </Notice>
      )}
      <Tree items={childrenOf(tree.items, group)} />
      <More pages={tree} />
      {group !== "" && <Devices group={group} />}
    </>
  );
}

/** The way from the top to a group. */
function Above({ group }: { group: string }) {
  const names = group.split("/");
  return (
    <nav aria-label="Groups above">
      <a href={link("/groups")}>Groups</a>
      {names.slice(0, -1).map((name, i) => (
        <>
          {" / "}
          <a key={name} href={groupLink(names.slice(0, i + 1).join("/"))}>
            {name}
          </a>
        </>
      ))}
    </nav>
  );
}

function Tree({ items }: { items: Group[] }) {
  if (items.length === 0) return null;
  return (
    <table aria-label="Groups" class="wide">
      <thead>
        <tr>
          <th>Group</th>
          <th>Devices</th>
          <th>States</th>
          <th>Silent</th>
        </tr>
      </thead>
      <tbody>
        {items.map((g) => (
          <tr key={g.group} data-group={g.group}>
            <td>
              <a href={groupLink(g.group)}>
                <bdi>{g.group}</bdi>
              </a>
            </td>
            <td data-testid="devices">{countText(g.devices)}</td>
            <td>
              <States of={g} />
            </td>
            <td>{g.silent > 0 && countText(g.silent)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** How many devices of a group are in each state, the severest first. */
function States({ of }: { of: Group }) {
  const states = Object.entries(of.states)
    .map(([name, count]) => ({ def: defOf(name), count }))
    .sort((a, b) => b.def.severity - a.def.severity);
  return (
    <span class="filters">
      {states.map(({ def, count }) => (
        <span key={def.name} data-state={def.name}>
          <StateName def={def} /> {countText(count)}{" "}
        </span>
      ))}
    </span>
  );
}

function Devices({ group }: { group: string }) {
  const asked = useMemo(() => ({ group, sort: "severity", limit: "200" }), [group]);
  const pages = usePages<Device>("/devices", asked);
  return (
    <Panel title="Devices">
      {pages.problem && <Notice kind="error">{pages.problem}</Notice>}
      {pages.items.length > 0 && <DeviceTable label="Devices" devices={pages.items} />}
      {pages.items.length === 0 && !pages.problem && (
        <Notice kind={pages.busy ? "loading" : "empty"}>{pages.busy ? "Loading…" : "No devices."}</Notice>
      )}
      <More pages={pages} />
    </Panel>
  );
}
