import { useState } from "preact/hooks";
import { devicesOf } from "../model/duty";
import { clearedText, raisedText, type Rule } from "../model/rules";
import { all, change } from "../net/api";
import { Form } from "./actions";
import { Instead, useAgain } from "./again";
import { IncidentPage } from "./incidents";
import { countText, defOf, Panel, StateName } from "./parts";

/** The rules on readings: what each says, and of which devices. */
export function RulesView() {
  return (
    <IncidentPage view="rules" title="Rules">
      <Rules />
    </IncidentPage>
  );
}

/** How many rules are shown. */
const most = 1000;

function Rules() {
  const [doing, setDoing] = useState<Rule>();
  const found = useAgain((signal) => all<Rule>("/rules", {}, most, signal), []);
  const items = found.is?.items ?? [];
  const close = () => {
    setDoing(undefined);
    found.again();
  };
  return (
    <Panel
      title="Rules on readings"
      aside={found.is && <span class="total">{countText(items.length)}{found.is.cut && "+"}</span>}
    >
      <Instead of={found} none="There is no rule yet: andon apply -f FILE makes one." />
      {items.length > 0 && (
        <table aria-label="Rules" class="wide">
          <thead>
            <tr>
              {["Rule", "State", "Raised by", "Cleared by", "Devices", "Message"].map((text) => (
                <th key={text}>{text}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {items.map((r) => (
              <Row key={r.name} of={r} on={() => setDoing(r)} />
            ))}
          </tbody>
        </table>
      )}
      {doing && <SwitchOn of={doing} onClose={close} />}
    </Panel>
  );
}

function Row({ of: r, on }: { of: Rule; on(): void }) {
  return (
    <tr data-rule={r.name} data-disabled={!!r.disabled}>
      <td>
        <b>
          <bdi>{r.name}</bdi>
        </b>
        {r.disabled && (
          <div class="said-off">
            <p class="problem">
              <span data-mark="⊘">disabled</span> <q dir="auto">{r.disabled}</q>
            </p>
            <button type="button" data-act="switch-on" onClick={on}>
              Switch on again…
            </button>
          </div>
        )}
      </td>
      <td>
        <StateName def={defOf(r.state)} />
      </td>
      <td class="text" data-head="Raised by">{raisedText(r)}</td>
      <td class="text" data-head="Cleared by">{clearedText(r)}</td>
      <td class="text" data-head="Devices">
        <bdi>{devicesOf(r.match ?? {})}</bdi>
      </td>
      <td class="text" dir="auto">
        {r.message}
      </td>
    </tr>
  );
}

function SwitchOn({ of: r, onClose }: { of: Rule; onClose(): void }) {
  const send = async () => {
    await change<Rule>(`/rules/${encodeURIComponent(r.name)}`, ({ disabled: _, ...rule }) => rule);
    return `${r.name} is evaluated again`;
  };
  return (
    <Form title={`Switch on ${r.name}`} submit="Switch on" onClose={onClose} send={send}>
      <p>
        It is disabled: <q dir="auto">{r.disabled}</q> From the next reading on it is evaluated again.
      </p>
    </Form>
  );
}
