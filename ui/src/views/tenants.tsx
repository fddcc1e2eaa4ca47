import { useEffect, useState } from "preact/hooks";
import { list, tenant } from "../net/api";
import { go } from "../state/route";

/** The tenant that is shown, and a choice where the server has several. */
export function Tenants() {
  const [names, setNames] = useState<string[]>([]);
  useEffect(() => {
    list<{ tenant: string }>("/tenants", { limit: "1000" }).then(
      (page) => setNames(page.items.map((t) => t.tenant)),
      () => undefined, // without the list there is no choice
    );
  }, []);
  const all = names.includes(tenant.value) ? names : [tenant.value, ...names];
  if (all.length === 1 && tenant.value === "default") return null;
  const choose = (name: string) => go(name === "default" ? "/" : `/?tenant=${encodeURIComponent(name)}`);
  return (
    <select class="tenant" aria-label="Tenant" value={tenant.value} onChange={(e) => choose(e.currentTarget.value)}>
      {all.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
