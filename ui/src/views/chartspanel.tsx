import { useEffect, useState } from "preact/hooks";
import { seriesOf } from "../model/readings";
import type { DeviceModel, Past } from "../state/device";
import { Notice, Panel } from "./parts";

type Charts = typeof import("./charts").Charts;

/** The readings of a device as charts, whose code is loaded when there is something to draw. */
export function ChartsPanel({ model, past }: { model: DeviceModel; past: Past }) {
  const [charts, setCharts] = useState<{ Charts: Charts }>();
  const [problem, setProblem] = useState("");
  const has = past.readings.length > 0;
  useEffect(() => {
    if (!has) return;
    import("./charts").then(
      (module) => setCharts({ Charts: module.Charts }),
      () => setProblem("The charts could not be loaded: the server is gone, or has another version by now."),
    );
  }, [has]);
  if (!has) return null;
  return (
    <Panel
      title="Readings"
      class="readings"
      aside={past.readingsCut && <span class="quiet">the newest {past.readings.length.toLocaleString("en")}</span>}
    >
      {problem && <Notice kind="error">{problem}</Notice>}
      {charts ? (
        <charts.Charts series={seriesOf(past.readings, model.silentAfter)} window={past.window} />
      ) : (
        !problem && <Notice kind="loading">Loading the charts…</Notice>
      )}
    </Panel>
  );
}
