import { keepsIncidents } from "../net/session";
import { shortcuts } from "../state/prefs";
import { Dialog } from "./dialog";
import { common, helpOpen, viewKeys } from "./keys";

export function Help() {
  if (!helpOpen.value) return null;
  // Of several that have a key the first counts: one of the view before a common one.
  const keys = [...viewKeys.value, ...common].filter(
    (k, i, all) => all.findIndex((o) => o.key === k.key) === i && (k.key !== "g i" || keepsIncidents.value),
  );
  return (
    <Dialog title="Keys" onClose={() => (helpOpen.value = false)}>
      <dl class="keys">
        {keys.map((k) => (
          <div key={k.key}>
            <dt>
              {k.key.split(" ").map((key) => (
                <kbd>{key}</kbd>
              ))}
            </dt>
            <dd>{k.does}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input
          type="checkbox"
          checked={shortcuts.value === "on"}
          onChange={(e) => (shortcuts.value = e.currentTarget.checked ? "on" : "off")}
        />
        Single keys do this
      </label>
      <p class="quiet">
        Marks: colour, shape and letter say the same. A hollow, hatched cell is a device that has
        fallen silent. The whole contract for programs is at <a href="/docs" target="_blank">/docs</a>,
        and what this page is made with at <a href="/licences.txt" target="_blank">/licences.txt</a>.
      </p>
    </Dialog>
  );
}
