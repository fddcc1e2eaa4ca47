import { useEffect, useState } from "preact/hooks";
import { waiting } from "../model/incidents";
import { zoneName } from "../model/time";
import { reason, tenant } from "../net/api";
import { keepsIncidents, signOut, tokenRequired } from "../net/session";
import { counts, followCounts } from "../state/incidents";
import { shownPhase, type Phase } from "../state/live";
import { myName, nextTheme, sound, theme } from "../state/prefs";
import { link, place } from "../state/route";
import { Form, YourName } from "./actions";
import { Tenants } from "./tenants";
import { helpOpen } from "./keys";
import { countText } from "./parts";
import { say } from "./toast";
import { chime } from "../state/sound";

const phases: Record<Phase, string> = {
  idle: "",
  loading: "loading",
  live: "live",
  polling: "every 4 s",
  lost: "lost",
  failed: "failed",
};

export function Header() {
  const phase = shownPhase.value;
  return (
    <header class="top">
      <a class="brand" href={link("/")}>
        <span class="lamp" aria-hidden="true">
          <i />
          <i />
          <i />
        </span>
        Andon
      </a>
      <Tenants />
      <nav aria-label="Views" class={keepsIncidents.value ? "many" : ""}>
        <Item path="/" view="fleet" text="Fleet" />
        <Incidents />
        <Item path="/groups" view="groups" text="Groups" />
        <Item path="/search" view="search" text="Search" />
        <Item path="/wall" view="wall" text="Wall" />
      </nav>
      <span class={`phase ${phase}`}>{phases[phase]}</span>
      <span class="zone" title="Times are in this zone">
        {zoneName()}
      </span>
      <Tools />
    </header>
  );
}

/** The way to the incidents, with how many somebody has to look at; absent where none are kept. */
function Incidents() {
  useEffect(followCounts, [tenant.value]);
  if (!keepsIncidents.value || !counts.value) return null;
  const n = waiting(counts.value);
  const here = ["incidents", "incident", "on-call", "maintenance", "reports"].includes(place.value.view);
  return (
    <a href={link("/incidents")} aria-current={here ? "page" : undefined}>
      Incidents
      {n > 0 && (
        <span class="badge" data-testid="waiting" data-count={n}>
          {countText(n)}
          <span class="sr"> to be acknowledged</span>
        </span>
      )}
    </a>
  );
}

function Item({ path, view, text }: { path: string; view: string; text: string }) {
  return (
    <a href={link(path)} aria-current={place.value.view === view ? "page" : undefined}>
      {text}
    </a>
  );
}

function Speaker({ on }: { on: boolean }) {
  return (
    <svg viewBox="0 0 24 24" class="icon" fill="none" stroke="currentColor" stroke-width="2" aria-hidden="true">
      <path d="M4 9.5v5h3.5L12 18.5v-13L7.5 9.5z" fill="currentColor" />
      {on ? <path d="M15.5 9a4.5 4.5 0 0 1 0 6M18 6.5a8 8 0 0 1 0 11" /> : <path d="m16 9.5 5 5m0-5-5 5" />}
    </svg>
  );
}

/** Who uses this browser, and the way to change it; absent until somebody has said so. */
function Me() {
  const [open, setOpen] = useState(false);
  if (!myName.value) return null;
  const text = `Your name: ${myName.value}`;
  const send = async ({ by }: Record<string, string>) =>
    by ? `You are ${by} now` : "Your name is asked for with the next action";
  return (
    <>
      <button type="button" aria-label={text} title={text} onClick={() => setOpen(true)}>
        <svg viewBox="0 0 24 24" class="icon" fill="none" stroke="currentColor" stroke-width="2" aria-hidden="true">
          <circle cx="12" cy="8" r="4" />
          <path d="M4 21c0-9 16-9 16 0" />
        </svg>
      </button>
      {open && (
        <Form title="Your name" submit="Change" onClose={() => setOpen(false)} send={send}>
          <p>What you do about incidents and devices is recorded with it.</p>
          <YourName autofocus />
        </Form>
      )}
    </>
  );
}

const themeSigns = { system: "◐", light: "☀", dark: "☾" };

const notSignedOut = (error: unknown) => say(`You are not signed out: ${reason(error)}`);

function Tools() {
  const on = sound.value === "on";
  const toggle = () => {
    sound.value = on ? "off" : "on";
    if (!on) chime(0); // also the click that a browser wants before it plays anything
  };
  return (
    <div class="tools">
      <Me />
      <button type="button" aria-pressed={on} aria-label="Sound for new trouble" title="Sound (m)" onClick={toggle}>
        <Speaker on={on} />
      </button>
      <button type="button" aria-label={`Change the theme, now ${theme.value}`} title={`Theme: ${theme.value} (t)`} onClick={nextTheme}>
        {themeSigns[theme.value]}
      </button>
      <button type="button" aria-label="Help" title="Keys and help (?)" onClick={() => (helpOpen.value = true)}>
        ?
      </button>
      {tokenRequired.value && (
        <button type="button" aria-label="Sign out" title="Sign out" onClick={() => signOut().catch(notSignedOut)}>
          <svg viewBox="0 0 24 24" class="icon" fill="none" stroke="currentColor" stroke-width="2" aria-hidden="true">
            <path d="M10 4H5v16h5M9.5 12H20m-4.5-4.5L20 12l-4.5 4.5" />
          </svg>
        </button>
      )}
    </div>
  );
}
