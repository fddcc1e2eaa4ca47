\set n random(0, :supervisors - 1)
SELECT * FROM event WHERE escalated_to = 'supervisor-' || :n AND state = 'WARNING1'
ORDER BY time DESC LIMIT 100;
