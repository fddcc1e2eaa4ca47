\set n random(0, :operators - 1)
SELECT * FROM event WHERE operator = 'operator-' || lpad(:n::text, 4, '0')
  AND time BETWEEN '2025-12-04THOUR:00:00Z' AND '2025-12-04TNEXT:00:00Z'
ORDER BY time DESC LIMIT 100;
