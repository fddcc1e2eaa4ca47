import { useSignalEffect } from "@preact/signals";
import { title } from "../model/alarms";
import type { Place } from "../model/address";
import { signInNeeded } from "../net/api";
import { alarms, fleet, shownPhase, version } from "../state/live";
import { link as href, place } from "../state/route";
import { Announcer } from "./announcer";
import { Banner } from "./banner";
import { Device } from "./device";
import { FleetView } from "./fleet";
import { Groups } from "./groups";
import { Header } from "./header";
import { Help } from "./help";
import { IncidentView } from "./incident";
import { Incidents } from "./incidents";
import { useKeys } from "./keys";
import { showBadge } from "./badge";
import { MaintenanceView } from "./maintenance";
import { OnCall } from "./oncall";
import { OperatorView, SupervisorView } from "./people";
import { Reports } from "./reports";
import { RulesView } from "./rules";
import { Search } from "./search";
import { SignIn } from "./signin";
import { Toast } from "./toast";
import { Wall } from "./wall";

export function App() {
  useKeys();
  useSignalEffect(() => {
    const phase = shownPhase.value;
    document.documentElement.dataset.live = signInNeeded.value ? "signed-out" : phase;
    document.documentElement.dataset.view = place.value.view;
    document.title = title(alarms.value, placeName(place.value), phase === "lost");
  });
  useSignalEffect(() => {
    version.value;
    const [worst] = fleet.trouble.slice(0, 1);
    showBadge(worst === undefined ? undefined : fleet.states[fleet.state[worst]]);
  });
  if (signInNeeded.value) return <SignIn />;
  if (place.value.view === "wall") return <Wall />;
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Header />
      <Banner />
      <View place={place.value} />
      <Help />
      <Toast />
      <Announcer />
    </>
  );
}

function View({ place }: { place: Place }) {
  switch (place.view) {
    case "fleet":
      return <FleetView />;
    case "device":
      return <Device key={place.device} id={place.device} />;
    case "operator":
      return <OperatorView key={place.operator} name={place.operator} />;
    case "supervisor":
      return <SupervisorView key={place.supervisor} name={place.supervisor} />;
    case "incidents":
      return <Incidents />;
    case "incident":
      return <IncidentView key={place.incident} id={place.incident} />;
    case "on-call":
      return <OnCall />;
    case "maintenance":
      return <MaintenanceView />;
    case "reports":
      return <Reports />;
    case "rules":
      return <RulesView />;
    case "groups":
      return <Groups />;
    case "search":
      return <Search />;
    default:
      return <Unknown />;
  }
}

function Unknown() {
  return (
    <main id="main" class="page">
      <h1 tabIndex={-1}>There is nothing at this address</h1>
      <p>
        <a href={href("/")}>Show the fleet</a>
      </p>
    </main>
  );
}

function placeName(p: Place): string {
  switch (p.view) {
    case "device":
      return p.device;
    case "operator":
      return p.operator;
    case "supervisor":
      return p.supervisor;
    case "incidents":
      return "Incidents";
    case "incident":
      return "Incident";
    case "on-call":
      return "On call";
    case "maintenance":
      return "Maintenance";
    case "reports":
      return "Reports";
    case "rules":
      return "Rules";
    case "groups":
      return "Groups";
    case "search":
      return "Search";
    case "wall":
      return "Wall";
    default:
      return "Fleet";
  }
}
