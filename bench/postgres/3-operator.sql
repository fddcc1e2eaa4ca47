\set n random(0, 99)
SELECT * FROM event WHERE operator = 'operator-' || lpad(:n::text, 4, '0')
  AND time BETWEEN '2025-12-04T08:00:00Z' AND '2025-12-04T09:00:00Z'
ORDER BY time DESC LIMIT 100;
