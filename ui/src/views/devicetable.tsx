import type { Device } from "../model/fleet";
import { Age, Ahead, defOf, DeviceLink, Escalated, InMaintenance, OperatorLink, StateName, When } from "./parts";

/** Devices as rows: what they show now. */
export function DeviceTable({ devices, label }: { devices: Device[]; label: string }) {
  return (
    <table aria-label={label} class="wide devices">
      <thead>
        <tr>
          <th>State</th>
          <th>Device</th>
          <th>For</th>
          <th>Operator</th>
          <th>Escalated to</th>
          <th>Last heard</th>
          <th>Message</th>
        </tr>
      </thead>
      <tbody>
        {devices.map((d) => (
          <tr key={d.device} data-device={d.device} data-state={d.state} class={d.silent ? "silent" : ""}>
            <td class="c-state">{d.state ? <StateName def={defOf(d.state, d.severity)} /> : "–"}</td>
            <td class="c-device">
              <DeviceLink id={d.device} /> {d.silent && <span class="tag">silent</span>}{" "}
              <InMaintenance by={d.maintenance} /> <Ahead time={d.time ? Date.parse(d.time) : undefined} />
            </td>
            <td class="c-age">{d.since ? <Age since={Date.parse(d.since)} /> : "–"}</td>
            <td class="c-operator" data-testid="operator">
              <OperatorLink name={d.operator} />
            </td>
            <td class="c-supervisor" data-testid="escalated">
              <Escalated to={d.escalated_to} record={d.escalation} />
            </td>
            <td class="c-heard">
              <When at={d.received} />
            </td>
            <td class="text" dir="auto">
              <span class="clamp">{d.message}</span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
