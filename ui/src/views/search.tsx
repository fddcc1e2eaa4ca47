import { useEffect, useMemo, useState } from "preact/hooks";
import { devicesQuery, operatorPath, supervisorPath } from "../model/address";
import type { Device } from "../model/fleet";
import { list, onlyById, tenant } from "../net/api";
import { startFleet, stateByName } from "../state/live";
import { link, query, setQuery } from "../state/route";
import { DeviceTable } from "./devicetable";
import { deviceColumns, Download } from "./download";
import { Notice, Panel } from "./parts";
import { More, usePages } from "./pages";

export function Search() {
  useEffect(startFleet, [tenant.value]);
  const { search, operator, escalated_to, state, silent, sort } = query.value;
  const filter = useMemo(
    () => devicesQuery({ search, operator, escalated_to, state, silent, sort }),
    [search, operator, escalated_to, state, silent, sort],
  );
  const asked = useMemo(() => ({ ...filter, limit: "200" }), [filter]);
  const byName = { ...filter, sort: "device" }; // by id each device is listed once, whatever changes
  const pages = usePages<Device>("/devices", asked);
  const searching = pages.busy || pages.more;
  return (
    <main id="main" class="page search" data-view="search">
      <h1 class="sr" tabIndex={-1}>
        Search
      </h1>
      <SearchForm />
      <Panel
        title="Devices"
        aside={
          <div class="filters">
            <span class="total" role="status">
              {pages.busy ? "…" : `${pages.items.length}${pages.more ? "+" : ""}`}
            </span>
            <Download path="/devices" query={byName} columns={deviceColumns} name="devices" />
          </div>
        }
      >
        {pages.problem && <Notice kind="error">{pages.problem}</Notice>}
        {pages.items.length > 0 && <DeviceTable label="Devices" devices={pages.items} />}
        {pages.items.length === 0 && !pages.problem && (
          <Notice kind={searching ? "loading" : "empty"}>
            {searching ? "Searching…" : "No device fits. Fewer filters find more."}
          </Notice>
        )}
        {pages.more && onlyById.value && (
          <p class="quiet note">The store of this server lists devices by name; each part of 200 is sorted by itself.</p>
        )}
        <More pages={pages} />
      </Panel>
      <div class="columns even">
        <People title="Operators" path="/operators" address={operatorPath} />
        <People title="Supervisors" path="/supervisors" address={supervisorPath} />
      </div>
    </main>
  );
}

/** Text is searched for when the hand rests, and the address follows. */
function useTyped(name: string): { value: string; onInput(e: { currentTarget: HTMLInputElement }): void } {
  const [text, setText] = useState(query.value[name] ?? "");
  useEffect(() => setText(query.value[name] ?? ""), [query.value[name]]);
  useEffect(() => {
    if (text === (query.peek()[name] ?? "")) return;
    const timer = setTimeout(() => setQuery({ [name]: text || undefined }), 250);
    return () => clearTimeout(timer);
  }, [text]);
  return { value: text, onInput: (e) => setText(e.currentTarget.value) };
}

function SearchForm() {
  const [text, operator, escalated] = [useTyped("search"), useTyped("operator"), useTyped("escalated_to")];
  const set = (name: string) => (e: { currentTarget: HTMLSelectElement }) =>
    setQuery({ [name]: e.currentTarget.value || undefined });
  const q = query.value;
  useEffect(() => {
    if (q.find !== "device") return;
    document.querySelector<HTMLInputElement>("input[name=search]")?.focus();
    setQuery({ find: undefined });
  }, [q.find]);
  return (
    <form class="search-form" role="search" onSubmit={(e) => e.preventDefault()}>
      <label class="grow">
        Text
        <input
          name="search"
          type="search"
          placeholder="part of a name or message"
          autocomplete="off"
          dir="auto"
          {...text}
        />
      </label>
      <label>
        Operator
        <input name="operator" type="search" placeholder="name, or none" autocomplete="off" dir="auto" {...operator} />
      </label>
      <label>
        Escalated to
        <input name="escalated_to" type="search" autocomplete="off" dir="auto" {...escalated} />
      </label>
      <label>
        Silence
        <select value={q.silent ?? ""} onChange={set("silent")}>
          <option value="">any</option>
          <option value="true">silent</option>
          <option value="false">heard</option>
        </select>
      </label>
      <label>
        Sort
        <select value={q.sort ?? "severity"} onChange={set("sort")}>
          <option value="severity">severest</option>
          <option value="since">longest</option>
          <option value="device">name</option>
        </select>
      </label>
      <States />
    </form>
  );
}

/** The states that are searched for; none of them chosen is any. */
function States() {
  const chosen = query.value.state?.split(",") ?? [];
  const known = [...stateByName.value.keys()];
  const names = [...known, ...chosen.filter((n) => !known.includes(n))];
  const toggle = (name: string) => {
    const next = chosen.includes(name) ? chosen.filter((n) => n !== name) : [...chosen, name];
    setQuery({ state: next.join(",") || undefined });
  };
  return (
    <fieldset class="chosen-states">
      <legend>States</legend>
      {names.map((name) => (
        <label class="check" key={name}>
          <input type="checkbox" name="state" value={name} checked={chosen.includes(name)} onChange={() => toggle(name)} />
          <bdi>{name}</bdi>
        </label>
      ))}
    </fieldset>
  );
}

interface Name {
  name: string;
  devices?: number;
}

function People(props: { title: string; path: string; address(name: string): string }) {
  const [names, setNames] = useState<Name[]>();
  const [more, setMore] = useState(false);
  useEffect(() => {
    list<Name>(props.path, { limit: "200" }).then(
      (page) => {
        setNames(page.items);
        setMore(page.next !== undefined);
      },
      () => setNames([]),
    );
  }, []);
  if (!names || names.length === 0) return null;
  const busiest = [...names].sort((a, b) => (b.devices ?? 0) - (a.devices ?? 0));
  return (
    <Panel title={props.title} aside={<span class="total">{names.length + (more ? "+" : "")}</span>}>
      <ul class="names" aria-label={props.title}>
        {busiest.map((n) => (
          <li key={n.name}>
            <a href={link(props.address(n.name))}>
              <bdi>{n.name}</bdi>
              {n.devices !== undefined && <span class="total">{n.devices}</span>}
            </a>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
