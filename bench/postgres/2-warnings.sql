\set i random(0, 9) * 10000
SELECT * FROM event WHERE device = 'line-' || lpad((:i * 40 / 100000)::text, 2, '0') || '/press-' || lpad(:i::text, 7, '0')
  AND state LIKE 'WARNING%' ORDER BY time DESC LIMIT 100;
