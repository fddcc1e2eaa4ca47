import { render } from "preact";
import "./style/tokens.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/fleet.css";
import "./style/pages.css";
import "./style/incidents.css";
import "./style/plan.css";
import "./style/wall.css";
import { readSession } from "./net/session";
import { startClock } from "./state/clock";
import { startAlarms, startMaintenance } from "./state/live";
import { startTheme } from "./state/prefs";
import { startRoutes } from "./state/route";
import { startSound } from "./state/sound";
import { App } from "./views/app";

startTheme();
startRoutes();
startClock();
startAlarms();
startMaintenance();
startSound();

/** A server that does not say soon whether a token is needed is not waited for. */
const patience = new Promise((resolve) => setTimeout(resolve, 1500));
void Promise.race([readSession(), patience]).then(() => {
  render(<App />, document.getElementById("board")!);
});
