import { duration } from "../model/time";
import { asOf, link, pagePhase } from "../state/live";
import { place } from "../state/route";
import { now } from "../state/clock";
import { clockAhead } from "../net/api";

/** Says that what is shown is old, and how old, or that it comes by asking. */
export function Banner() {
  const { phase, why } = link.value;
  if (pagePhase.value) return null; // the page says it itself
  if (phase === "lost") {
    return (
      <div class="banner lost" role="alert" data-testid="lost">
        <b>{why || "The connection is lost"}.</b> This picture is <PictureAge /> old. Trying again.
      </div>
    );
  }
  if (phase === "failed" && place.value.view !== "fleet") {
    return (
      <div class="banner lost" role="alert" data-testid="failed">
        <b>The fleet can't be shown.</b> {why}. Trying again.
      </div>
    );
  }
  if (phase === "polling") {
    return (
      <div class="banner" role="status" data-testid="polling">
        The store of this server has no feed of changes: what is not normal is asked for every 4 seconds, all other
        devices within two minutes.
      </div>
    );
  }
  return null;
}

/** The age alone: it ticks without being read out each second. */
export function PictureAge() {
  const age = (now.value - clockAhead.value - asOf.value) / 1000;
  return <span aria-live="off">{duration(age)}</span>;
}
