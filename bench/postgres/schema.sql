-- The events of a fleet in PostgreSQL, with an index for each of the seven questions, and a table of
-- what each device shows, as someone would have it who builds this on a database.
CREATE TABLE event (
  device       text COLLATE "C" NOT NULL,
  time         timestamptz NOT NULL,
  state        text COLLATE "C" NOT NULL,
  operator     text COLLATE "C",
  escalated_to text COLLATE "C",
  message      text,
  attributes   jsonb
);

\copy event FROM 'events.csv' (FORMAT csv, HEADER)

ALTER TABLE event ADD PRIMARY KEY (device, time, state);
CREATE INDEX ON event (device, time) WHERE state LIKE 'WARNING%';
CREATE INDEX ON event (operator, time);
CREATE INDEX ON event (escalated_to, state, time) WHERE escalated_to IS NOT NULL;

CREATE TABLE shown AS
  SELECT e.*, s.since
  FROM (SELECT DISTINCT ON (device) * FROM event ORDER BY device, time DESC) e,
  LATERAL (
    SELECT min(time) AS since FROM event r WHERE r.device = e.device AND r.time > coalesce(
      (SELECT max(time) FROM event o WHERE o.device = e.device AND o.state <> e.state),
      '-infinity')
  ) s;
ALTER TABLE shown ADD PRIMARY KEY (device);
CREATE INDEX ON shown (state, since, device);

VACUUM (FREEZE, ANALYZE) event;
VACUUM (FREEZE, ANALYZE) shown;
